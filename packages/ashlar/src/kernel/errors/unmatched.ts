import { AshlarError } from "../../support/index.ts";

/** No route answers: the path is unknown (404), or this method is none of the path's (405). */
export class UnmatchedError extends AshlarError {
  /** Whether the path belongs to the API, whose every answer is JSON. */
  readonly answersJson: boolean;

  /** @param allowed the methods that the path does have; none where it is unknown */
  constructor(allowed: readonly string[], answersJson: boolean) {
    if (allowed.length === 0) super("E_NOT_FOUND");
    else super("E_METHOD_NOT_ALLOWED", undefined, { headers: { allow: allowed.join(", ") } });
    this.answersJson = answersJson;
  }
}
