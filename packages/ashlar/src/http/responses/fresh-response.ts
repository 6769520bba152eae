import { FastResponse } from "./fast-response.ts";

/**
 * A response that the framework has made for one request, and returns once: headers may be added to it. Any other
 * response may be returned again, to another visitor.
 */
export class FreshResponse extends FastResponse {}
