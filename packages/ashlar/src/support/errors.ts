/**
 * Every code an error of the framework can carry, with its HTTP status and one sentence.
 *
 * The registry is closed: code is decided by code, not by message, so a new kind of failure gets a line here.
 */
export const ERRORS = {
  // Boot: configuration, container, routes
  E_INVALID_CONFIGURATION: [500, "The configuration is invalid."],
  E_MISSING_ENVIRONMENT: [500, "A required environment variable is not set."],
  E_UNSUPPORTED_NODE: [500, "This version of Node.js is too old."],
  E_UNKNOWN_SERVICE: [500, "Nothing is bound to this container key."],
  E_CIRCULAR_SERVICE: [500, "A service needs itself to be made."],
  E_INVALID_ROUTE: [500, "A route definition is invalid."],
  E_UNKNOWN_ROUTE: [500, "No route has this name."],
  E_MISSING_ROUTE_PARAMETER: [500, "A route parameter needed for the URL is missing."],
  E_INVALID_ROUTE_PARAMETER: [500, "A route parameter does not fit its compiler."],
  E_MISSING_PACKAGE: [500, "An optional package is needed and not installed."],
  // Requests
  E_BAD_REQUEST: [400, "The request is malformed."],
  E_INVALID_BODY: [400, "The body of the request could not be parsed."],
  E_CONFLICTING_TOKENS: [400, "The request carries two different tokens."],
  E_UNAUTHENTICATED: [401, "Authentication is required."],
  E_INVALID_CREDENTIALS: [401, "The credentials are not valid."],
  E_STALE_PROOF: [401, "The account has changed in the meantime. Log in again."],
  E_INVALID_TOKEN: [401, "The token is not valid."],
  E_FORBIDDEN: [403, "You may not do this."],
  E_PASSWORD_NOT_CONFIRMED: [403, "Confirm your password to go on."],
  E_INVALID_SIGNATURE: [403, "The link is not valid or has expired."],
  E_NOT_FOUND: [404, "The page or resource was not found."],
  E_ROW_NOT_FOUND: [404, "The record was not found."],
  E_METHOD_NOT_ALLOWED: [405, "This method is not allowed here."],
  E_NOT_ACCEPTABLE: [406, "No acceptable representation is available."],
  E_PAYLOAD_TOO_LARGE: [413, "The body of the request is too large."],
  E_UNSUPPORTED_MEDIA_TYPE: [415, "The type of the request's body is not supported."],
  E_CSRF: [419, "The page has expired."],
  E_INVALID_INPUT: [422, "Some of the input is not valid."],
  E_TOO_MANY_REQUESTS: [429, "Too many requests."],
  E_INTERNAL: [500, "Something went wrong."],
  E_OVERLOADED: [503, "The server is too busy; try again in a moment."],
  E_SHUTTING_DOWN: [503, "The server is shutting down."],
  // Responses
  E_INVALID_HEADER: [500, "A header's name or value holds characters that are not allowed."],
  E_INVALID_COOKIE: [500, "A cookie's name, value or attributes are not valid."],
  E_INVALID_REDIRECT: [500, "The address to redirect to is not allowed."],
  E_UNSERIALIZABLE_RESULT: [500, "What the handler returned cannot be turned into a response."],
  // Tokens and keys
  E_JWT_KEY: [500, "The key does not fit the algorithm."],
  E_JWT_ALGORITHM: [500, "The algorithm is not supported."],
  E_JWT_CLAIMS: [500, "The claims of the token to sign are not valid."],
  E_JWT_INVALID: [401, "The token is not valid."],
  E_WEAK_SECRET: [500, "The secret is missing or too weak."],
  E_INVALID_VALUE: [500, "The value is too large, or not of a kind that can be signed or sealed."],
  // Passwords
  E_INVALID_PASSWORD: [422, "The password is not acceptable."],
  // Database
  E_DATABASE: [500, "The database reported an error."],
  E_DATABASE_UNAVAILABLE: [503, "The database cannot be reached, or took too long; try again in a moment."],
  E_UNIQUE_VIOLATION: [409, "A record with this value exists already."],
  E_FOREIGN_KEY_VIOLATION: [409, "A record refers to one that does not exist, or is still referred to."],
  E_NOT_NULL_VIOLATION: [500, "A required column has no value."],
  E_INVALID_QUERY: [500, "The query names a column, or holds a value, that is not allowed."],
  E_MIGRATION: [500, "A migration could not be run."],
  // Authentication
  E_UNKNOWN_GUARD: [500, "No guard has this name."],
  E_UNSUPPORTED_GUARD_OPERATION: [500, "This guard does not support the operation."],
  E_INVALID_MODEL: [500, "The model cannot be used as a user."],
  // Uploaded files
  E_FILE_EXISTS: [500, "A file is there already."],
  // Views
  E_VIEW: [500, "The view could not be rendered."],
  // Mail
  E_INVALID_MAIL: [500, "The mail cannot be composed: its addresses, its subject or its content are not valid."],
  E_MAIL_NOT_SENT: [503, "The mail could not be sent; try again in a moment."],
  // Session data
  E_SESSION: [500, "The session cannot hold the value, or is not open."],
  // Commands
  E_COMMAND: [500, "The command could not be carried out."],
} as const;

/** What every 503 says unless the error knows better (RFC 9110 §10.2.3), in seconds. */
const RETRY_LATER: Readonly<Record<string, string>> = Object.freeze({ "retry-after": "5" });

/** A code from the closed registry {@link ERRORS}. */
export type ErrorCode = keyof typeof ERRORS;

/** What an error carries beyond its code and message. */
export interface AshlarErrorOptions {
  /** The error that led to this one. It is logged and never shown to a caller. */
  readonly cause?: unknown;
  /** Headers the answer carries, such as `Allow`. A 503 carries `Retry-After` if they are left out. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Members added to the problem document (RFC 9457 §3.2), such as `errors` by field. */
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/**
 * The base of every error the framework throws.
 *
 * Security: the message of an error whose status is below 500 is shown to the caller, so it carries no token, secret,
 * password or claim. Messages of the others are shown in development only.
 */
export class AshlarError extends Error {
  /** The kind of failure; decide by this, never by the message. */
  readonly code: ErrorCode;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** Headers the answer carries. */
  readonly headers: Readonly<Record<string, string>>;
  /** Members added to the problem document. */
  readonly extensions: Readonly<Record<string, unknown>>;

  /**
   * @param code the kind of failure
   * @param detail what went wrong here and what to do about it; the registry's sentence where left out
   */
  constructor(code: ErrorCode, detail?: string, options: AshlarErrorOptions = {}) {
    super(detail ?? ERRORS[code][1], options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.status = ERRORS[code][0];
    this.headers = options.headers ?? (this.status === 503 ? RETRY_LATER : {});
    this.extensions = options.extensions ?? {};
  }
}

/** Messages by field: what a form or a problem document shows. A problem of the whole input stands under `""`. */
export type FieldErrors = Record<string, string[]>;

/** Some of the input is not valid: 422 with every problem at once, by field (`E_INVALID_INPUT`). */
export class ValidationError extends AshlarError {
  readonly errors: Readonly<FieldErrors>;

  constructor(errors: Readonly<FieldErrors>, detail?: string) {
    super("E_INVALID_INPUT", detail, { extensions: { errors } });
    this.errors = errors;
  }
}

/** The configuration cannot work: ends the boot (`E_INVALID_CONFIGURATION` unless another code is given). */
export class ConfigurationError extends AshlarError {
  /**
   * @param where the file and the path in it, such as `config/api.ts: DRIVERS.jwt.expires`
   * @param problem what is wrong there
   * @param remedy the line or command that mends it
   */
  constructor(where: string, problem: string, remedy: string, code: ErrorCode = "E_INVALID_CONFIGURATION") {
    super(code, `${where}: ${problem} ${remedy}`);
  }
}
