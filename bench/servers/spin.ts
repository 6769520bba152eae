// Work that keeps the processor: what a handler does that computes instead of waiting.
import { performance } from "node:perf_hooks";

/** Keeps the processor for so many milliseconds. */
export function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
