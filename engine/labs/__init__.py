"""What a console or a command talks to: a lab that runs, one in virtual time, one that is replayed."""
