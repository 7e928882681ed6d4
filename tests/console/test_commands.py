from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.bulks import MOST, Asked
from console.commands import QUEUE_WORDS, WORDS, Command, CommandError, complete, completions, parse
from console.pools import Wanted


@pytest.mark.parametrize("word", ["register", "workers", "pingt", "ping", "data", "deregister", "quit"])
def test_the_seeds_words_stand_alone(word: str) -> None:
    assert parse(word) == Command(word, "")
    assert parse(f"  {word.upper()} ") == Command(word, "")
    with pytest.raises(CommandError, match=f"{word} takes no argument"):
        parse(f"{word} 5")


def test_the_seeds_words_for_pools_stand_alone_and_take_a_name() -> None:
    assert parse("bulk") == Command("bulk", Wanted()) and parse("endbulk") == Command("endbulk", "")
    assert parse("bulk 5 --slots 2 --name slow") == Command("bulk", Wanted(5, "slow", 2))
    assert parse("endbulk slow") == Command("endbulk", "slow")
    assert completions("bulk 5 --s") == ["bulk 5 --slots "]
    with pytest.raises(CommandError, match="bulk needs a number"):
        parse("bulk x")


@pytest.mark.parametrize("word", ["bulkping", "bulkdata"])
def test_numbers(word: str) -> None:
    assert parse(f"{word} 100") == Command(word, Asked(100))
    assert parse(f"{word} 1,000") == parse(f"{word} 1_000") == Command(word, Asked(1000))
    assert parse(f"{word} 100 5 2.5 --timeout 3") == Command(word, Asked(100, 5, 2.5, 3.0))
    assert completions(f"{word} 100 --r") == [f"{word} 100 --rate "]
    for wrong in ("", "0", "-5", "x", "1.5", "1e3", str(MOST + 1), "9" * 5000, "١٢"):
        with pytest.raises(CommandError, match=f"{word} needs a number from 1"):
            parse(f"{word} {wrong}")


def test_an_unknown_word_is_named_with_what_was_perhaps_meant() -> None:
    with pytest.raises(CommandError, match="unknown command 'bulkpong' · did you mean bulkping"):
        parse("bulkpong 100")
    with pytest.raises(CommandError, match="unknown command 'zzz' · help lists all commands"):
        parse("zzz")
    with pytest.raises(CommandError, match=r"unknown command '·\[31m'"):
        parse("\x1b[31m")


def test_words_with_text() -> None:
    assert parse("theme") == Command("theme", "")
    assert parse("theme paper") == Command("theme", "paper")
    assert parse("filter !lost|late x") == Command("filter", "!lost|late x")
    with pytest.raises(CommandError, match="sort needs COLUMN"):
        parse("sort")


def test_completion() -> None:
    assert complete("reg") == "register"
    assert complete("bulkp") == "bulkping "
    assert complete("") is None
    assert complete("zz") is None
    assert complete("bulkping 1") is None
    names = {"WORKER": ["w1", "w2", "w10"], "[TARGET]": ["w1", "broker"]}
    found = completions("kill W1", names=lambda what: names.get(what, []))
    assert found == ["kill w1", "kill w10"]
    assert completions("fault kill b", names=lambda what: names.get(what, [])) == ["fault kill broker"]
    assert completions("trace o") == ["trace on", "trace off"] and completions("trace on") == []
    assert completions("nosuch x") == completions("kill w1 ") == completions(" ") == []


def test_words_are_unique_and_explained() -> None:
    assert len({word.name for word in WORDS}) == len(WORDS)
    assert all(word.help for word in WORDS)


def test_paths_are_completed_as_many_as_one_likes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    (tmp_path / "ab").mkdir()
    for line in ("feed", f"feed {tmp_path}/other"):
        assert completions(f"{line} {tmp_path}/a", QUEUE_WORDS) == [
            f"{line} {tmp_path}/a.txt",
            f"{line} {tmp_path}/ab/",
        ]
    assert completions(f"feed {tmp_path}/a.txt", QUEUE_WORDS) == []


@given(st.text(max_size=40))
def test_any_line_is_a_command_or_an_error_in_words(line: str) -> None:
    try:
        command = parse(line)
    except CommandError as error:
        said = str(error)
    else:
        said = command.name
        assert said in {word.name for word in WORDS}
    assert said.isprintable()


def test_disk_queues_know_fewer_words() -> None:
    assert [word.name for word in QUEUE_WORDS] == [
        "quit",
        "system",
        "attach",
        "fault",
        "kill",
        "trace",
        "theme",
        "alerts",
        "help",
        "feed",
    ]
    assert parse("fault kill 3", QUEUE_WORDS) == Command("fault", "kill 3")
    assert completions("f", QUEUE_WORDS) == ["fault ", "feed "] and complete("bulk", QUEUE_WORDS) is None
    with pytest.raises(CommandError, match="unknown command 'bulkping'"):
        parse("bulkping 5", QUEUE_WORDS)
    with pytest.raises(CommandError, match="did you mean fault"):
        parse("falt kill 3", QUEUE_WORDS)


def test_a_pair_is_shown_with_or_without_the_word() -> None:
    assert parse("pair") == parse("pair show") == Command("pair", "")
    assert parse("pair back") == Command("pair", "back")
    with pytest.raises(CommandError, match=r"^pair is show, back, serve; got 'forth'$"):
        parse("pair forth")


def test_placeholders_are_not_offered_as_values() -> None:
    assert completions("throttle ") == ["throttle off"]
    assert completions("throttle off ", names=lambda what: ["flood"] if what == "[CLIENT]" else []) == [
        "throttle off flood"
    ]
    assert completions("pau") == ["pause"] and complete("undr") == "undrain "
