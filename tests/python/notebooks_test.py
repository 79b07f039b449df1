"""The notebooks of tools/examples/notebooks run from their first cell to the last, each where its framework is installed."""

import pytest
from conftest import TREE


@pytest.mark.parametrize("name, needs", [("pytorch", ("torch", "onnxscript")), ("paddle", ("paddle",))])
def test_runs(name, needs, tmp_path, monkeypatch):
    for package in needs:
        pytest.importorskip(package)
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(TREE / "tools/examples/notebooks" / (name + ".ipynb"), as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [data for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs for data in output.get("data", {})]
    assert "text/html" in shown  # the report
