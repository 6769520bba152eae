import type { BodyLimits, BodyReading, RequestBody } from "../../src/http/bodies/body.ts";
import { DEFAULT_BODY_LIMITS, readBody as read } from "../../src/http/bodies/body.ts";
import { HeldBodies, type HeldBody } from "../../src/http/bodies/held-bodies.ts";

/** What is held of the body of a request in an application of its own. */
export function heldBody(limits: Partial<BodyLimits> = {}): HeldBody {
  return new HeldBodies({ ...DEFAULT_BODY_LIMITS, ...limits }).begin();
}

/** Reads the body of a request as an application without others would. */
export function readBody(raw: Request, limits: BodyLimits, reading: BodyReading = {}): Promise<RequestBody> {
  return read(raw, limits, heldBody(limits), reading);
}
