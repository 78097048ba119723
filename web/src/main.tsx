// The page: what stands around every route, and which route is shown.

import "./style/app.css";
import { render } from "preact";
import { Frame } from "./parts/frame.tsx";
import { restore } from "./theme.ts";

restore();
const page = document.getElementById("page");
if (page) {
  render(<Frame />, page);
}
