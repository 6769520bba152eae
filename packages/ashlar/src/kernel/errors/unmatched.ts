import { AshlarError } from "../../support/index.ts";
import "../../http/index.ts";

/** Thrown if no route matches: the path is unknown (404), or it doesn't support this method (405). */
export class UnmatchedError extends AshlarError {
  /** Whether the path belongs to the API, which always responds with JSON. */
  readonly respondsWithJson: boolean;

  /** @param allowed the methods that the path supports; empty if the path is unknown */
  constructor(allowed: readonly string[], respondsWithJson: boolean) {
    if (allowed.length === 0) super("E_NOT_FOUND");
    else super("E_METHOD_NOT_ALLOWED", undefined, { headers: { allow: allowed.join(", ") } });
    this.respondsWithJson = respondsWithJson;
  }
}
