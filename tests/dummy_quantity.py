"""Analyse families of models in a copy of the source that has one more derived quantity, `entropy`.

Run in that copy: `python dummy_quantity.py FAMILIES FOUND`. FAMILIES holds, by name, the terms of
models, the reference first; FOUND gets the result's document and the figures of its page.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from contract.generator import AnalysisParameters, ModelTerms
from contract.jobs import GeneratorJob
from service.web.model_view import model_view
from worker.analysis import Analysed, analyse_process
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.jobs.generator import describe, in_standard_names
from worker.jobs.parameters import analysis_settings_of, process_of
from worker.validation.plot_data import Picture


def answer(family: list[dict[str, Any]]) -> dict[str, Any]:
    terms = [ModelTerms.model_validate(model) for model in family]
    job = GeneratorJob(kind="generator", model=terms[0], analysis=AnalysisParameters(eigenpairs=2))
    reference = analyse_process(process_of(terms[0]), analysis_settings_of(job.analysis))
    spread = intervals_over([process_of(model) for model in terms[1:]], reference, 0.9)
    found = (Analysed(reference.report, spread), Picture())
    result = describe("job_1", job, in_standard_names(terms[0]), found, 0.0)
    return {
        "document": result.model_dump(mode="json", by_alias=True),
        "figures": [asdict(figure) for figure in model_view(result).figures],
    }


if __name__ == "__main__":
    families = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    found = {name: answer(family) for name, family in families.items()}
    Path(sys.argv[2]).write_text(json.dumps(found), "utf-8")
