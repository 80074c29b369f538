"""Layout of a graph: nodes repel each other, edges draw them together.

Repulsion is a field over a grid, found by a Fourier transform, so that each step takes time in proportion to nodes and
edges: five thousand nodes in about a second, where comparing all pairs takes a minute.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_CELLS = 128  # of the grid, in each direction; half as many for a small graph
_SMALL = 1500
_SEED = 7
_Floats = NDArray[np.float64]


def lay_out(count: int, edges: Sequence[tuple[int, int]], *, steps: int = 0) -> list[tuple[float, float]]:
    """Places of `count` nodes between 0 and 1; the same graph always looks the same."""
    if count == 0:
        return []
    random = np.random.default_rng(_SEED)
    places = _begin(count, edges, random)
    if count > 1:
        ends = np.array([edge for edge in edges if edge[0] != edge[1]], dtype=np.int64).reshape(-1, 2)
        degrees = np.maximum(np.bincount(ends.ravel(), minlength=count), 1).astype(np.float64)
        steps = steps or (200 if count <= _SMALL else 150)
        # A node among many friends is pulled by each a little less, or a clique would be a point.
        pulls = 0.5 / np.minimum(degrees[ends[:, 0]], degrees[ends[:, 1]]) ** 0.8
        kernel = _kernel(_CELLS if count > _SMALL else _CELLS // 2)
        step, ideal = 0.1, 0.6 / np.sqrt(count)
        for nth in range(steps):
            force = _repel(places, degrees, kernel) * ideal**2 * 0.5
            _attract(force, places, ends, pulls / ideal)
            force -= places * 0.3 * ideal  # parts that nothing holds together stay in sight
            length = np.maximum(np.hypot(force[:, 0], force[:, 1]), 1e-9)
            places += force / length[:, None] * np.minimum(length, step)[:, None]
            step = 0.1 * (1 - nth / steps) ** 1.5 + 1e-4
    low, high = places.min(axis=0), places.max(axis=0)
    span = max(float((high - low).max()), 1e-9)
    middle = (low + high) / 2
    scaled = (places - middle) / span + 0.5
    return [(round(float(x), 4), round(float(y), 4)) for x, y in scaled]


def _begin(count: int, edges: Sequence[tuple[int, int]], random: np.random.Generator) -> _Floats:
    """Nodes on a spiral in the order of a walk over the graph, so that neighbours begin near each other."""
    near: list[list[int]] = [[] for _ in range(count)]
    for left, right in edges:
        near[left].append(right)
        near[right].append(left)
    order: list[int] = []
    seen = [False] * count
    for root in sorted(range(count), key=lambda node: -len(near[node])):
        if seen[root]:
            continue
        seen[root] = True
        waiting = [root]
        for node in waiting:
            order.append(node)
            for other in near[node]:
                if not seen[other]:
                    seen[other] = True
                    waiting.append(other)
    places = np.empty((count, 2))
    turn = np.arange(count)
    radius = 0.5 * np.sqrt(turn / count)
    places[order, 0] = radius * np.cos(turn * 2.399963)
    places[order, 1] = radius * np.sin(turn * 2.399963)
    places += random.normal(scale=1e-3, size=places.shape)
    return places


def _kernel(cells: int) -> NDArray[np.complex128]:
    """The transform of the force that a unit in one cell has in each other, as x + iy."""
    distance = np.fft.fftfreq(2 * cells) * 2 * cells
    x, y = np.meshgrid(distance, distance, indexing="ij")
    squared = x * x + y * y
    squared[0, 0] = 1.0
    field = (x + 1j * y) / squared
    field[0, 0] = 0.0
    found: NDArray[np.complex128] = np.fft.fft2(field)
    return found


def _repel(places: _Floats, weights: _Floats, kernel: NDArray[np.complex128]) -> _Floats:
    """The repulsion at each node: nodes are spread over the four cells around them, the field is read there again."""
    cells = len(kernel) // 2
    low = places.min(axis=0)
    cell = max(float((places.max(axis=0) - low).max()), 1e-9) / (cells - 2)
    at = (places - low) / cell
    corner = at.astype(np.int64)
    part = at - corner
    mass = np.zeros((2 * cells, 2 * cells))
    shares = []
    for dx in (0, 1):
        for dy in (0, 1):
            share = np.where(dx, part[:, 0], 1 - part[:, 0]) * np.where(dy, part[:, 1], 1 - part[:, 1])
            shares.append((corner[:, 0] + dx, corner[:, 1] + dy, share))
            np.add.at(mass, shares[-1][:2], share * np.sqrt(weights))
    field = np.fft.ifft2(np.fft.fft2(mass) * kernel) / cell
    found = sum((field[x, y] * share for x, y, share in shares), np.zeros(len(places), dtype=np.complex128))
    return np.stack((found.real, found.imag), axis=1)


def _attract(force: _Floats, places: _Floats, ends: NDArray[np.int64], strength: _Floats) -> None:
    """Add the pull of the edges to the forces."""
    if not len(ends):
        return
    apart = places[ends[:, 0]] - places[ends[:, 1]]
    length = np.maximum(np.hypot(apart[:, 0], apart[:, 1]), 1e-9)
    pull = apart * (length * strength)[:, None]
    for axis in (0, 1):
        force[:, axis] -= np.bincount(ends[:, 0], pull[:, axis], len(places))
        force[:, axis] += np.bincount(ends[:, 1], pull[:, axis], len(places))
