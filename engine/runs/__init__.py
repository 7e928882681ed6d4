"""Bulk runs that were made: their records, kept, compared, exported."""
