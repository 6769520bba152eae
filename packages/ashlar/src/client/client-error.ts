import type { ClientErrorCodes } from "./client-error-codes.ts";
import { type ClientFlow, flowsIn } from "./client-flow.ts";

/** The body of a failed response: the members of a problem document (RFC 9457), as far as it has them. */
interface Problem {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly title?: unknown;
  readonly step?: unknown;
  readonly flows?: unknown;
  readonly pending?: unknown;
  readonly errors?: unknown;
}

/** The details of a failure besides its code. */
interface Facts {
  readonly cause?: unknown;
  readonly status?: number;
  readonly retryAfter?: number | null;
  readonly body?: unknown;
}

/** Thrown by every method of a client when a request fails, except for a request that you abort. */
export class ClientError extends Error {
  /** The kind of failure. Branch on this, never on the message. */
  readonly code: keyof ClientErrorCodes;
  /** The HTTP status of the response; 0 if there isn't one. */
  readonly status: number;
  /**
   * Sentences for the user that say what is wrong with each input, by the input's name; empty if the server reports
   * none.
   */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  /** The response's `Retry-After`, in seconds; `null` if it has none. */
  readonly retryAfter: number | null;
  /**
   * With `E_LOGIN_PENDING`, the login step that is required; with `E_LOGIN_REFUSED`, the step that refused the login;
   * otherwise `null`.
   */
  readonly step: string | null;
  /**
   * The possible next steps: with `E_LOGIN_PENDING`, the ways to pass the step; with `E_PASSWORD_NOT_CONFIRMED`, the
   * ways to confirm; with `E_UNAUTHENTICATED`, the ways to log in. Empty if the response lists none.
   */
  readonly flows: readonly ClientFlow[];
  /**
   * With `E_LOGIN_PENDING` from a token endpoint, the text with which the login can be continued for ten minutes;
   * otherwise `null`. Treat it like a password.
   */
  readonly pending: string | null;
  /** The response's parsed JSON, or its text if it isn't JSON; `null` if there was no response. */
  readonly body: unknown;

  /** @internal */
  constructor(
    code: keyof ClientErrorCodes,
    message: string,
    { cause, status = 0, retryAfter = null, body = null }: Facts = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    const { errors, step, flows, pending } = problemIn(body);
    // A literal, because bundlers rename classes.
    this.name = "ClientError";
    this.code = code;
    this.status = status;
    this.fields = fieldsOf(errors);
    this.retryAfter = retryAfter;
    this.step = typeof step === "string" ? step : null;
    this.flows = flowsIn(flows);
    this.pending = typeof pending === "string" ? pending : null;
    this.body = body;
  }
}

/** Returns the error for a response with this body. */
export function errorOf(response: Response, text: string): ClientError {
  const body = parsed(text) ?? text;
  const { code, detail, title } = problemIn(body);
  const { status } = response;
  const facts = { status, body, retryAfter: secondsOf(response.headers.get("retry-after")) };
  if (typeof code !== "string") return invalid(response, facts);
  return new ClientError(code as keyof ClientErrorCodes, String(detail ?? title ?? code), facts);
}

/** The error for a response that can't have come from the application. */
export function invalid({ ok, status, headers }: Response, facts: Facts): ClientError {
  const type = headers.get("content-type") ?? "unknown";
  // send() throws for such a response too.
  const remedy = ok ? " Use send() for other bodies." : "";
  const message = `The response with status ${status} and type ${type} is not JSON of Ashlar.${remedy}`;
  return new ClientError("E_INVALID_RESPONSE", message, { ...facts, status });
}

/** The error for a redirect. */
export function redirected({ status }: Response): ClientError {
  const message =
    "The response is a redirect, which the client does not follow, because it would take passwords and tokens along. " +
    "Set `url` to the address that the application itself answers at.";
  return new ClientError("E_INVALID_RESPONSE", message, { status });
}

/** Parses a text as JSON; `undefined` if it isn't JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function problemIn(body: unknown): Problem {
  return typeof body === "object" && body !== null ? body : {};
}

function fieldsOf(errors: unknown): Record<string, string[]> {
  if (typeof errors !== "object" || errors === null) return {};
  const lists = Object.entries(errors).map(([name, list]) => [
    name,
    [list].flat().map((error: { readonly message?: string } | string) => String((error as Error)?.message ?? error)),
  ]);
  return Object.fromEntries(lists);
}

/** `Retry-After` (RFC 9110 §10.2.3): seconds, or a date. */
function secondsOf(header: string | null): number | null {
  if (header === null) return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1000);
  return seconds >= 0 ? seconds : null;
}
