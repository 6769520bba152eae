import { SourceLocation } from "./platform/source-location.ts";
import { dictionary } from "./values/kinds.ts";
import type { Message } from "./values/message.ts";

/** The meaning of an error code: the HTTP status of the response, and one sentence. */
export type ErrorDefinition<Status extends number = number> = readonly [status: Status, sentence: string];

/** The codes of the errors in this file, and codes that several folders throw without importing each other. */
const BASE = {
  E_INVALID_CONFIGURATION: [500, "The configuration is invalid."],
  E_INVALID_INPUT: [422, "Some of the input is not valid."],
  E_INTERNAL: [500, "Something went wrong."],
  E_MISSING_PACKAGE: [500, "An optional package that is needed is not installed."],
  E_OVERLOADED: [503, "The server is too busy; try again in a moment."],
  E_INVALID_MODEL: [500, "The model cannot be used as a user."],
  E_COMMAND: [500, "The command could not be carried out."],
} as const;

/**
 * Derives the statuses of error codes from their definitions, so that each code and status is written only once:
 *
 * ```ts
 * const CODES = {
 *   E_ORDER_CLOSED: [409, "The order is closed."],
 *   E_STOCK_UNREACHABLE: [503, "The warehouse doesn't respond."],
 * } as const;
 *
 * declare module "ashlar" { interface ErrorCodes extends StatusesOf<typeof CODES> {} }
 *
 * declareErrors(CODES);
 * ```
 */
export type StatusesOf<Definitions extends Readonly<Record<string, ErrorDefinition>>> = {
  readonly [Code in keyof Definitions]: Definitions[Code][0];
};

/** The codes that the framework's features add to {@link ErrorCodes}. An application augments `ErrorCodes` itself. */
// biome-ignore lint/suspicious/noEmptyInterface: empty, because features augment it.
export interface FrameworkErrors {}

/**
 * The codes that errors can carry, each with its HTTP status. A feature or an application adds its own by declaration
 * merging, and declares their meaning with {@link declareErrors}:
 *
 * ```ts
 * declare module "ashlar" { interface ErrorCodes { E_ORDER_CLOSED: 409 } }
 * ```
 *
 * {@link StatusesOf} derives them from the definitions.
 */
export interface ErrorCodes extends StatusesOf<typeof BASE>, FrameworkErrors {}

/** The code of an error: `E_NOT_FOUND`. Branch on it, never on the message. */
export type ErrorCode = keyof ErrorCodes & string;

const definitions: Record<string, ErrorDefinition> = { ...BASE };
const places = new Map<string, SourceLocation | string>();

const CODE = /^E_[A-Z\d]+(?:_[A-Z\d]+)*$/;

/** Every code that has been declared, with its HTTP status and its sentence. */
export const ERRORS: Readonly<Record<keyof ErrorCodes, readonly [status: number, sentence: string]>> =
  definitions as Record<ErrorCode, ErrorDefinition>;

/**
 * Declares error codes, so that an {@link AshlarError} can carry them. Call it at the top of the module that throws them,
 * or of one that this module imports; their types are declared along with it:
 *
 * ```ts
 * declare module "ashlar" { interface ErrorCodes { E_ORDER_CLOSED: 409 } }
 *
 * declareErrors({ E_ORDER_CLOSED: [409, "The order is closed."] });
 *
 * Route.post("/orders/@id/items", () => {
 *   throw new AshlarError("E_ORDER_CLOSED");
 * });
 * ```
 *
 * A code has one meaning per process. A module can be loaded twice, so declaring a code again unchanged is fine.
 *
 * @param errors the HTTP status, 400 to 599, and one sentence for each code. If the status is below 500, the client
 * sees the sentence.
 * @throws `E_INVALID_CONFIGURATION` if another file declares a code differently, or if a code or a status is invalid
 */
export function declareErrors<Code extends ErrorCode>(
  errors: {
    readonly [Key in Code]: ErrorDefinition<ErrorCodes[Key]>;
  },
): void {
  declareAt(new SourceLocation(declareErrors), errors);
}

/**
 * Declares the error codes of a feature; see {@link declareErrors}.
 *
 * @param provider the name of the feature's provider, which may change its own codes, because a development server
 * reloads it
 */
export function declareErrorsOf(provider: string, errors: Readonly<Record<string, ErrorDefinition>>): void {
  declareAt(provider, errors);
}

/** @param place the file or the provider's name, which may declare these codes again with another meaning */
function declareAt(place: SourceLocation | string, errors: Readonly<Record<string, ErrorDefinition>>): void {
  for (const [code, [status, sentence]] of Object.entries<ErrorDefinition>(errors)) {
    const isStatus = Number.isInteger(status) && status >= 400 && status <= 599;
    if (!CODE.test(code) || !isStatus || typeof sentence !== "string" || sentence === "") {
      const remedy = 'Write it as E_ORDER_CLOSED: [409, "The order is closed."], with a status from 400 to 599.';
      throw new ConfigurationError(String(place), `${code} is not the declaration of an error code.`, remedy);
    }
    if (hasSameMeaning(code, [status, sentence], place)) continue;
    definitions[code] = Object.freeze([status, sentence] as const);
    places.set(code, place);
  }
}

/**
 * Reports whether a code is already declared with this meaning. A file may redefine its own codes, because a
 * development server reloads it after each edit.
 *
 * @throws `E_INVALID_CONFIGURATION` if another file or provider has declared it with a different meaning
 */
function hasSameMeaning(code: string, [status, sentence]: ErrorDefinition, place: SourceLocation | string): boolean {
  if (!Object.hasOwn(definitions, code)) return false;
  const [knownStatus, knownSentence] = definitions[code]!;
  if (status === knownStatus && sentence === knownSentence) return true;
  const other = ownerOf(places.get(code));
  if (other !== null && other === ownerOf(place)) return false;
  const problem = `the error code ${code} already has another meaning, from ${other ?? "the framework"}.`;
  throw new ConfigurationError(String(place), problem, "Give one of them another name.");
}

/** The file or provider that may redefine a code declared at a place; `null` if it is unknown. */
function ownerOf(place: SourceLocation | string | undefined): string | null {
  return typeof place === "object" ? place.file : (place ?? null);
}

/** The `Retry-After` (RFC 9110 §10.2.3) of every 503 that doesn't set its own, in seconds. */
const RETRY_LATER: Readonly<Record<string, string>> = Object.freeze({ "retry-after": "5" });

/** The data of an error besides its code and message. */
export interface AshlarErrorOptions {
  /** The error that caused this one. It is logged and never shown to a caller. */
  readonly cause?: unknown;
  /** Headers of the response, such as `Allow`. Default: none, but a 503 gets `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Members added to the problem document (RFC 9457 §3.2), such as `errors` by field. */
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/**
 * The base of every error that the framework throws.
 *
 * Security: the message of an error whose status is below 500 is shown to the caller, so it must not contain a token,
 * secret, password or claim. Other messages are shown in development only.
 */
export class AshlarError extends Error {
  /** The kind of failure. Branch on this, never on the message. */
  readonly code: keyof ErrorCodes & string;
  /** The HTTP status of the response. */
  readonly status: number;
  /** Headers of the response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Members added to the problem document. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** The message in a form that can still be translated into the visitor's language. */
  declare readonly detail: Message;

  /**
   * @param code the kind of failure
   * @param detail what went wrong here and what to do about it; default: the code's sentence
   * @throws `E_INTERNAL` if the code has not been declared
   */
  constructor(code: ErrorCode, detail?: string | Message, options: AshlarErrorOptions = {}) {
    const [status, sentence] = definitionOf(code, options.cause);
    const said = asMessage(detail ?? { rule: `errors.${code}`, params: {}, message: sentence });
    super(said.message, options.cause === undefined ? undefined : { cause: options.cause });
    // Not enumerable, because it would appear in each log line, which already has the message.
    Object.defineProperty(this, "detail", { value: said });
    this.name = new.target.name;
    this.code = code;
    this.status = status;
    this.headers = options.headers ?? (this.status === 503 ? RETRY_LATER : {});
    this.extensions = options.extensions ?? {};
  }
}

/** The reason why a request is refused. */
export interface Refusal {
  /** A sentence for the log that says what is exhausted, and how to fix it. */
  readonly why: string;
  /** Further fields of the log line, such as the name of a connection. */
  readonly bindings: Readonly<Record<string, unknown>>;
  /** How long the request has waited, in milliseconds. */
  readonly waitedMs: number;
  /** Reports whether another request like it would be refused now; default: unknown. */
  readonly stands?: () => boolean;
}

/**
 * Thrown if more requests arrive than can be served (`E_OVERLOADED`). There may be thousands of these errors, so they
 * have no stack, the log only counts them, and the response is as short as possible.
 */
export class RefusedError extends AshlarError {
  declare readonly refusal: Refusal;

  /** Use {@link RefusedError.of}, which captures no stack. */
  private constructor(problem: string, refusal: Refusal) {
    super("E_OVERLOADED", problem);
    // Not enumerable, because the log line already contains it.
    Object.defineProperty(this, "refusal", { value: refusal });
  }

  /** Creates the error without a stack, at a tenth of the cost. */
  static of(problem: string, refusal: Refusal): RefusedError {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return new RefusedError(problem, refusal);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }
}

function definitionOf(code: ErrorCode, cause: unknown): ErrorDefinition {
  if (Object.hasOwn(definitions, code)) return definitions[code]!;
  const problem = `The error code ${code} has not been declared.`;
  const remedy = "Import the module that declares it with declareErrors() into the module that throws it.";
  throw new AshlarError("E_INTERNAL", `${problem} ${remedy}`, { cause });
}

/** Returns a message. Converts text to a message without a rule. */
export function asMessage(said: string | Message): Message {
  return typeof said === "string" ? { rule: null, params: {}, message: said } : said;
}

/**
 * The problems of an input, by field: the broken rule, its parameters, and the sentence. Problems of the input as a
 * whole are under `""`.
 *
 * ```ts
 * const errors: FieldErrors = {
 *   password: [{ rule: "password.tooShort", params: { min: 8 }, message: "Use at least 8 characters." }],
 * };
 * ```
 */
export type FieldErrors = Record<string, Message[]>;

/** The problems of an input, by field: messages, or sentences in a single language. */
export type FieldSentences = Readonly<Record<string, readonly (string | Message)[]>>;

/**
 * Thrown if some of the input is not valid (`E_INVALID_INPUT`). The response is a 422 with all problems, by field.
 *
 * ```ts
 * Route.post("/orders", ({ request, t }) => {
 *   if (request.integer("count", 0) < 1) throw new ValidationError({ count: [t.message("app.orders.none")] });
 * });
 * ```
 *
 * A message made by `t.message` is translated for its reader, and API clients recognize it by its `rule`. Text is shown
 * unchanged, and its `rule` is `null`.
 */
export class ValidationError extends AshlarError {
  /** The problems, by field. The sentences are not translated yet: `t(error.errors.email[0])` translates one. */
  readonly errors: Readonly<FieldErrors>;

  /**
   * @param errors the problems by field; those of the input as a whole are under `""`
   * @param detail the text above the problems; default: "Some of the input is not valid."
   */
  constructor(errors: FieldSentences, detail?: string | Message) {
    const messages = fieldErrors(errors);
    super("E_INVALID_INPUT", detail, { extensions: { errors: messages } });
    this.errors = messages;
  }
}

/**
 * Returns the problems by field, as messages.
 *
 * @param make converts each message
 */
export function fieldErrors(errors: FieldSentences, make: (message: Message) => Message = (same) => same): FieldErrors {
  // Field names come from the input, so `__proto__` must be treated like any other name.
  const made: FieldErrors = dictionary<Message[]>();
  for (const [field, list] of Object.entries(errors)) made[field] = list.map((one) => make(asMessage(one)));
  return made;
}

/**
 * Thrown if the configuration can't work, which makes startup fail (`E_INVALID_CONFIGURATION` unless another code is
 * given).
 */
export class ConfigurationError extends AshlarError {
  /** @internal The file and the path in it, as in the message. */
  declare readonly where: string;

  /**
   * @param where the file and the path in it, such as `config/api.ts: DRIVERS.jwt.expires`
   * @param problem the problem
   * @param remedy the line or command that fixes it
   */
  constructor(where: string, problem: string, remedy: string, code: ErrorCode = "E_INVALID_CONFIGURATION") {
    super(code, `${where}: ${problem} ${remedy}`);
    // Not enumerable, because the message begins with it.
    Object.defineProperty(this, "where", { value: where });
  }
}
