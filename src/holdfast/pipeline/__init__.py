"""The data pipeline: declared sources, a program and sinks; run in batches, updates or streams on Spark."""

from holdfast.pipeline.model import Pipeline
from holdfast.pipeline.reading import from_text, read
from holdfast.pipeline.running import Event, RunResult, run

__all__ = ["Event", "Pipeline", "RunResult", "from_text", "read", "run"]
