"""Apart: a function run in a process of its own, with limits that the kernel keeps, and an answer.

What native code, a hostile file or a stranger's query does there costs one sentence. The process ends with the one that
started it. It is a new interpreter: nothing of its parent is in it, no thread, file or connection. It imports the
function by its name, reads tasks as MessagePack of the type that the function says, and writes what the function gives;
nothing is unpickled. `prepare`, where there is one, makes of the task what the function is called with; the limits hold
from then on.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from lycosa import errors
from lycosa.errors import LycosaError
from lycosa.process import die_with_parent, undisturbed
from lycosa.process.frames import Frames, frame
from lycosa.process.limits import MEMORY_CODE, Limits, arm, confine, disarm, explain

T = TypeVar("T")

_START_S = 30.0
#: The kernel ends the process in time; whoever waits for it gives it so much more.
_GRACE_S = 2.0
_CHUNK = 1 << 18


class Ended(LycosaError):
    """The process ended before it had answered; `reason` is timeout, cpu, memory or crash."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class _Start(Struct, frozen=True):
    """What the process is started with."""

    parent: int = 0
    function: str = ""
    prepare: str = ""
    prepare_s: float = 0.0
    limits: Limits = Limits()
    load: tuple[str, ...] = ()
    program: tuple[str, ...] = ()


class _Ready(Struct, frozen=True, tag=True):
    pass


class _Item(Struct, Generic[T], frozen=True, tag=True):
    value: T


class _Done(Struct, frozen=True, tag=True):
    pass


class _Problem(Struct, frozen=True, tag=True):
    """An error of `lycosa.errors` by its name; of any other kind: an empty name."""

    kind: str
    text: str


class Apart(Generic[T]):
    """A process that runs one function for one task after the other; started with the first, and anew after its end."""

    def __init__(
        self,
        function: Callable[[Any], T | Iterator[T]],
        limits: Limits,
        *,
        prepare: Callable[[Any], object] | None = None,
        prepare_s: float = 0.0,
        start_s: float = _START_S,
        load: Sequence[str] = (),
        quiet: bool = False,
    ) -> None:
        """`load` names modules to import before the first task; a `quiet` process has no standard error."""
        self.process: subprocess.Popen[bytes] | None = None
        self._limits, self._start_s, self._quiet = limits, start_s, quiet
        prepared = "" if prepare is None else _name_of(prepare)
        self._start = _Start(0, _name_of(function), prepared, prepare_s, limits, tuple(load))
        unbounded = not limits.timeout_s or (prepare is not None and not prepare_s)
        self._patience_s = None if unbounded else prepare_s + limits.timeout_s + _GRACE_S
        self._decode = msgspec.msgpack.Decoder(_Item[_answer_type(function)] | _Ready | _Done | _Problem).decode  # type: ignore[misc]
        self._frames = Frames()
        self._messages: deque[bytes] = deque()

    def ask(self, task: object) -> T:
        """What the function returns."""
        (answer,) = self.items(task)
        return answer

    def items(self, task: object) -> Iterator[T]:
        """What the function gives, one after the other; who stops listening ends the process with `close`."""
        process = self.process or self._begin()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its end is told below
            process.stdin.write(frame(task))
            process.stdin.flush()
        until = None if self._patience_s is None else time.monotonic() + self._patience_s
        while not isinstance(message := self._receive(until), _Done):
            if isinstance(message, _Problem):
                if not message.kind:
                    raise self._ended("crash", message.text)
                raise getattr(errors, message.kind, LycosaError)(message.text)
            yield message.value

    def close(self) -> None:
        """End the process, whatever it does."""
        process, self.process = self.process, None
        if process is not None:
            _end(process)

    def __enter__(self) -> Apart[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> subprocess.Popen[bytes]:
        self._frames, self._messages = Frames(), deque()
        self.process = _start(self._start, quiet=self._quiet)
        self._receive(time.monotonic() + self._start_s)
        return self.process

    def _receive(self, until: float | None) -> Any:
        """The next message; raises where the process ends or it does not come in time."""
        process = self.process
        assert process is not None and process.stdout is not None
        pipe = process.stdout.fileno()
        waiting = select.poll()
        waiting.register(pipe, select.POLLIN)
        try:
            while not self._messages:
                left = None if until is None else max(0.0, until - time.monotonic()) * 1000
                if not waiting.poll(left):
                    raise self._ended("timeout", f"not done after {self._limits.timeout_s:g} s")
                data = os.read(pipe, _CHUNK)
                if not data:
                    raise self._ended(*explain(process.wait(), self._limits))
                self._messages.extend(self._frames.feed(data))
            return self._decode(self._messages.popleft())
        except (ValueError, msgspec.MsgspecError) as error:
            raise self._ended("crash", f"the process gave no answer that can be read: {error}") from None

    def _ended(self, reason: str, text: str) -> Ended:
        self.close()
        return Ended(reason, text)


def run(function: Callable[[Any], T], task: object, limits: Limits, **how: Any) -> T:
    """What a function returns for one task; `how` as `Apart` takes it."""
    with Apart[T](function, limits, **how) as process:
        return process.ask(task)


def stream(function: Callable[[Any], Iterator[T]], task: object, limits: Limits, **how: Any) -> Iterator[T]:
    """What a function gives for one task, as it comes; ended when nobody listens any more."""
    with Apart[T](function, limits, **how) as process:
        yield from process.items(task)


def query(
    function: Callable[[Any], Iterator[tuple[T, ...]]], task: object, limits: Limits, **how: Any
) -> tuple[tuple[str, ...], Iterator[tuple[T, ...]]]:
    """The columns and the rows of a query; the function gives the names of the columns first.

    What is wrong with the query is raised here, before anything is written.
    """
    answer = _told(stream(function, task, limits, **how), limits)
    columns = next(answer)
    first = next(answer, None)
    return tuple(map(str, columns)), answer if first is None else chain([first], answer)


def _told(answer: Iterator[T], limits: Limits) -> Iterator[T]:
    """The same, with its end told as that of a query."""
    try:
        yield from answer
    except Ended as ended:
        if ended.reason == "timeout":
            raise LycosaError(
                f"The query took longer than {limits.timeout_s:g} s and was ended; --timeout allows more."
            ) from None
        raise LycosaError(f"The query was ended, most likely for want of memory: {ended}.") from None


def run_program(command: Sequence[str], data: bytes, limits: Limits) -> bytes:
    """What another program writes for what it reads, under the same limits; without a shell."""
    process = _start(_Start(limits=limits, program=tuple(command)), quiet=True)
    try:
        written, _ = process.communicate(data, timeout=_START_S + limits.timeout_s if limits.timeout_s else None)
    except subprocess.TimeoutExpired:
        raise Ended("timeout", f"not done after {limits.timeout_s:g} s") from None
    finally:
        _end(process)
    if process.returncode:
        raise Ended(*explain(process.returncode, limits))
    return written


def _name_of(function: Callable[..., object]) -> str:
    if "<" in function.__qualname__ or function.__module__ == "__main__":
        raise ValueError(f"{function.__qualname__} of {function.__module__} cannot be imported by its name")
    return f"{function.__module__}:{function.__qualname__}"


def _answer_type(function: Callable[..., object]) -> Any:
    """The type of one answer: what the function returns, or what its iterator gives."""
    kind = get_type_hints(function).get("return", Any)
    return get_args(kind)[0] if _gives_many(function) else kind


def _gives_many(function: Callable[..., object]) -> bool:
    return get_origin(get_type_hints(function).get("return", Any)) is Iterator


def _start(start: _Start, *, quiet: bool) -> subprocess.Popen[bytes]:
    start = msgspec.structs.replace(start, parent=os.getpid())
    words = [sys.executable, "-P", "-m", "lycosa.process.apart", msgspec.json.encode(start).decode()]
    with undisturbed():
        return subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if quiet else None
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


# In the process


def main() -> None:
    """The process: becomes another program, or answers tasks until nobody asks."""
    start = msgspec.json.decode(sys.argv[1], type=_Start)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks hears it too, and ends us
    die_with_parent(start.parent)
    if start.program:
        confine(start.limits)
        arm(start.limits)
        os.execv(start.program[0], start.program)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what native code prints must not get between the answers
    for name in start.load:
        import_module(name)
    try:
        _Answering(start, out).run()
    except MemoryError:
        os._exit(MEMORY_CODE)


class _Answering:
    """Takes tasks from the standard input and writes what the function makes of them."""

    def __init__(self, start: _Start, out: Any) -> None:
        self._start, self._out = start, out
        self._function = _find(start.function)
        self._prepare = _find(start.prepare) if start.prepare else None
        first = next(iter(inspect.signature(self._prepare or self._function).parameters))
        kind = get_type_hints(self._prepare or self._function).get(first, Any)
        self._decode = msgspec.msgpack.Decoder(kind).decode
        self._is_confined = False

    def run(self) -> None:
        self._send(_Ready())
        frames = Frames()
        while data := os.read(0, _CHUNK):
            for message in frames.feed(data):
                self._answer(message)

    def _answer(self, message: bytes) -> None:
        try:
            for item in self._items(self._decode(message)):
                self._out.write(frame(_Item(item)))
            disarm()
            self._send(_Done())
        except MemoryError:
            raise
        except LycosaError as problem:
            disarm()
            self._send(_Problem(type(problem).__name__, str(problem)))
        except Exception as error:
            disarm()
            self._send(_Problem("", f"{type(error).__name__}: {error}"))

    def _items(self, task: Any) -> Iterator[Any]:
        if self._prepare is not None:
            arm(Limits(timeout_s=self._start.prepare_s))
            task = self._prepare(task)
        if not self._is_confined:
            confine(self._start.limits)
            self._is_confined = True
        arm(self._start.limits)
        answer = self._function(task)
        if _gives_many(self._function):
            yield from answer
        else:
            yield answer

    def _send(self, message: object) -> None:
        self._out.write(frame(message))
        self._out.flush()


def _find(name: str) -> Any:
    module, _, function = name.partition(":")
    found: Any = import_module(module)
    for part in function.split("."):
        found = getattr(found, part)
    return found


if __name__ == "__main__":
    main()
