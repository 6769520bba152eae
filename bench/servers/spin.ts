// CPU-bound work: a handler that computes instead of waiting.
import { performance } from "node:perf_hooks";

/** Keeps the processor busy for a number of milliseconds. */
export function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
