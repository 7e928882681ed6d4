"""The faults that only the negotiated broker knows: a wrong wall clock, and the end of a pair's primary."""

from __future__ import annotations

from engine.errors import Refused
from engine.parts.fault import SECONDS, Aim, Amount, Fault, Made, Scene
from engine.parts.orders import ClockSet
from engine.parts.promises import books, nothing_fails, others_untouched
from engine.protocols.negotiated import promises


def _wall(aim: Aim) -> Made:
    shift, seconds = aim.amounts
    scene: Scene = aim.scene

    def deed() -> None:
        scene.order(aim.seat, ClockSet(scene.began + shift))
        scene.world.after(seconds, scene.order, aim.seat, ClockSet(scene.began))

    own = promises.wrong_clock(aim.label, aim.key, shift, seconds, scene.options)
    end = max(promise.within for promise in own)
    promised = [*own, others_untouched(aim, end), nothing_fails(end), books(end)]
    return Made(f"the wall clock of {aim.label} is {shift:g} s ahead for {seconds:g} s", promised, deed)


def _takeover(aim: Aim) -> Made:
    scene: Scene = aim.scene
    if not scene.options.fallback or "fallback" not in scene.world.names:
        raise Refused("takeover: there is no fallback; set negotiated.fallback to its endpoint")
    own = promises.takeover(scene.options, len(scene.workers()))
    end = max(promise.within for promise in own)
    return Made("the primary is dead; its fallback is there", [*own, books(end)], lambda: scene.kill("broker"))


FAULTS = (
    Fault("wall", "set a wall clock wrong", ("worker",), (Amount("shift", 60.0, -1e6, 1e6), SECONDS), _wall),
    Fault("takeover", "kill the primary of a pair", (), (), _takeover),
)
