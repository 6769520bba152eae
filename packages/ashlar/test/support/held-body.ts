import type { BodyLimits, BodyReading, RequestBody } from "../../src/http/bodies/body.ts";
import { DEFAULT_BODY_LIMITS, readBody as read } from "../../src/http/bodies/body.ts";
import { HeldBodies, type HeldBody } from "../../src/http/bodies/held-bodies.ts";

/** The bytes held for a request's body in a separate application. */
export function heldBody(limits: Partial<BodyLimits> = {}): HeldBody {
  return new HeldBodies({ ...DEFAULT_BODY_LIMITS, ...limits }).begin();
}

/** Reads a request's body as an application without other requests would. */
export function readBody(raw: Request, limits: BodyLimits, reading: BodyReading = {}): Promise<RequestBody> {
  return read(raw, limits, heldBody(limits), reading);
}
