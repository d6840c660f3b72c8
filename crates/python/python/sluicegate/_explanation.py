"""Plans and predictions."""

from __future__ import annotations

from typing import Any


class Explanation:
    """The plan of a query with its predictions. ``print(explanation)`` shows what ``sluice explain`` prints."""

    __slots__ = ("text", "prediction")

    def __init__(self, text: str, prediction: dict[str, Any]) -> None:
        #: The plan, the strategies of each operator, and the predicted numbers.
        self.text: str = text
        #: The prediction: ``seconds``, ``dollars``, ``requests``, bytes ``scanned`` and over the ``link``, the name of
        #: the ``prices``, and the ``strategies``, one for each operator that has a choice.
        self.prediction: dict[str, Any] = prediction

    @property
    def seconds(self) -> float:
        """The predicted time."""
        return float(self.prediction["seconds"])

    @property
    def dollars(self) -> float:
        """The predicted cost."""
        return float(self.prediction["dollars"])

    @property
    def requests(self) -> float:
        """The predicted number of requests."""
        return float(self.prediction["requests"])

    @property
    def strategies(self) -> list[dict[str, Any]]:
        """The chosen strategy of each operator that has a choice."""
        return list(self.prediction["strategies"])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<sluicegate.Explanation: {self.seconds:.3g} s, ${self.dollars:.3g}>"
