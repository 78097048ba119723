// Curves as files: a table for a spreadsheet, a picture for a report.

import type uPlot from "uplot";
import { colour } from "../theme.ts";
import type { Curve } from "./chart.tsx";

export function saveCsv(text: string, name: string): void {
  save(new Blob([text], { type: "text/csv" }), name);
}

export interface Pictured {
  title: string;
  curves: readonly Curve[];
  plot: uPlot;
}

const [EDGE, HEAD] = [16, 44];

/** All panels below one another, each with its title and its key. */
export function savePicture(panels: readonly Pictured[], name: string): void {
  const ratio = devicePixelRatio || 1;
  const wide = Math.max(...panels.map(({ plot }) => plot.width)) + 2 * EDGE;
  const high = panels.reduce((sum, { plot }) => sum + plot.height + HEAD, EDGE);
  const canvas = document.createElement("canvas");
  canvas.width = wide * ratio;
  canvas.height = high * ratio;
  const brush = canvas.getContext("2d");
  if (!brush) {
    return;
  }
  brush.scale(ratio, ratio);
  brush.fillStyle = colour("panel");
  brush.fillRect(0, 0, wide, high);
  let top = EDGE;
  for (const panel of panels) {
    title(brush, panel, top);
    const { plot } = panel;
    brush.drawImage(plot.ctx.canvas, EDGE, top + HEAD - 10, plot.width, plot.height);
    top += plot.height + HEAD;
  }
  canvas.toBlob((blob) => blob && save(blob, name));
}

function title(brush: CanvasRenderingContext2D, panel: Pictured, top: number): void {
  brush.fillStyle = colour("ink");
  brush.font = 'bold 13px system-ui, "DejaVu Sans", sans-serif';
  brush.fillText(panel.title, EDGE, top + 10);
  brush.font = '11px system-ui, "DejaVu Sans", sans-serif';
  let left = EDGE;
  for (const curve of panel.curves) {
    brush.strokeStyle = colour(curve.ink);
    brush.lineWidth = 2;
    brush.setLineDash([...curve.dash]);
    brush.beginPath();
    brush.moveTo(left, top + 24);
    brush.lineTo(left + 22, top + 24);
    brush.stroke();
    brush.fillText(curve.name, left + 27, top + 28);
    left += 27 + brush.measureText(curve.name).width + 16;
  }
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
