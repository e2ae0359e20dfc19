"""cmake/DivisiRooms.cmake: what is listed and what is there are the same;
cmake/DivisiTargets.cmake: what may not be linked is not."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def configure(folder, rooms, listed):
    """Configures a project of `rooms`, which adds those that are `listed`."""
    for room, text in rooms.items():
        path = folder / room / "CMakeLists.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(Rooms LANGUAGES NONE)\n"
        f"include({ROOT}/cmake/DivisiRooms.cmake)\n"
        f"divisi_add_rooms({' '.join(listed)})\n"
        "divisi_check_rooms(lib passes)\n")
    done = subprocess.run(["cmake", "-S", folder, "-B", folder / "build"],
                          capture_output=True, text=True)
    return done.returncode, " ".join(done.stderr.split())


def test_every_room_listed_is_accepted(tmp_path):
    rooms = {"lib/A": "add_subdirectory(Inner)\n", "lib/A/Inner": "",
             "passes/B": ""}
    assert configure(tmp_path, rooms, ["lib/A", "passes/B"]) == (0, "")


def test_listed_room_that_is_missing_is_an_error(tmp_path):
    code, error = configure(tmp_path, {"lib/A": ""}, ["lib/A", "lib/Gone"])
    assert code != 0
    assert ("the room 'lib/Gone' is listed, but there is no "
            "lib/Gone/CMakeLists.txt") in error


def test_room_that_is_not_listed_is_an_error(tmp_path):
    code, error = configure(tmp_path, {"lib/A": "", "passes/B": ""}, ["lib/A"])
    assert code != 0
    assert "'passes/B' has a CMakeLists.txt that nothing adds" in error


def test_room_within_a_room_that_forgets_it_is_an_error(tmp_path):
    code, error = configure(tmp_path, {"lib/A": "", "lib/A/Inner": ""},
                            ["lib/A"])
    assert code != 0
    assert "'lib/A/Inner' has a CMakeLists.txt that nothing adds" in error


def configure_links(folder, links):
    """Configures libraries that link others, of which a may not link d."""
    names = sorted(set("".join(links)))
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(Links LANGUAGES NONE)\n"
        f"include({ROOT}/cmake/DivisiTargets.cmake)\n"
        + "".join(f"add_library({name} INTERFACE)\n" for name in names)
        + "".join(f"target_link_libraries({user} INTERFACE {used})\n"
                  for user, used in links)
        + "divisi_forbid_links(a d)\n")
    done = subprocess.run(["cmake", "-S", folder, "-B", folder / "build"],
                          capture_output=True, text=True)
    return done.returncode, " ".join(done.stderr.split())


def test_links_that_are_allowed_are_accepted(tmp_path):
    assert configure_links(tmp_path, ["ab", "bc", "cb", "da"]) == (0, "")


def test_link_through_others_is_an_error(tmp_path):
    code, error = configure_links(tmp_path, ["ab", "bc", "cb", "cd"])
    assert code != 0
    assert "'a' links 'd', which it must not" in error
