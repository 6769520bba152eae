import { FastResponse as NodeResponse } from "srvx";
import { RUNTIME } from "../../support/index.ts";

/**
 * The class of the responses that the framework creates. On Node.js, it is srvx's, which reaches the socket without
 * becoming a platform response. The servers of Bun and Deno accept only the platform's own.
 */
export const FastResponse: typeof Response = RUNTIME === "node" ? NodeResponse : Response;
export type FastResponse = Response;

/**
 * A response that the framework has created for one request and returns once, so headers may be added to it. Any other
 * response may be returned again, to another visitor.
 */
export class FreshResponse extends FastResponse {}
