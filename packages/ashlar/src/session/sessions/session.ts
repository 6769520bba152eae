import { redirectTarget, TrustedOrigins, trustedUrl } from "../../http/index.ts";
import { inEnglish } from "../../messages/index.ts";
import {
  AshlarError,
  type Dictionary,
  dictionary,
  type FieldErrors,
  type FieldSentences,
  type Message,
} from "../../support/index.ts";
import { type SessionBeginning, SessionData } from "./session-data.ts";
import { noteReading, readStoredErrors, toStoredErrors } from "./session-errors.ts";
import { fittingInput, inputAt, ROOM_AROUND_INPUT, refillableInput } from "./session-input.ts";
import { toSessionValue } from "./session-value.ts";
import "../errors.ts";

const OLD_INPUT = "__old";
const ERRORS = "__errors";
const TYPED = "__typed";
const INTENDED = "url.intended";

/** A user's input in a form that was refused because the user has to log in or give another proof first. */
export interface TypedForm {
  /** The form's tag, which identifies the user. */
  readonly owner: string;
  /** The host, path and query of the form's page. */
  readonly page: string;
  readonly input: Readonly<Dictionary>;
}

/**
 * Data about a visitor that is kept between requests: `context.session`.
 *
 * Keys are plain names: `"cart.items"` is one key, not a path. Values must be representable in JSON. They are copied
 * when stored and frozen when read, so {@link put} is the only way to change them. If a database transaction is rolled
 * back, so are the changes made in it.
 *
 * Security: guards, not the session, know who is logged in. A user's id in the session proves nothing once the user has
 * logged out elsewhere.
 */
export class Session extends SessionData {
  readonly #t: (message: Message) => string;
  readonly #origins: TrustedOrigins;
  readonly #isFor: (typed: TypedForm) => boolean;
  #hasShownErrors = false;

  /**
   * @param beginning the session's stored contents; `null` for a new session
   * @param onChange called after each change
   * @param t translates a message into the visitor's language
   * @param origins the other origins where a visitor may have been heading
   * @param isFor reports whether this request is for a form's page, from the user who filled in the form
   */
  constructor(
    beginning: SessionBeginning | null,
    onChange: () => void = () => {},
    t: (message: Message) => string = inEnglish,
    origins: TrustedOrigins = new TrustedOrigins(),
    isFor: (typed: TypedForm) => boolean = () => false,
  ) {
    super(beginning, onChange);
    this.#t = t;
    this.#origins = origins;
    this.#isFor = isFor;
  }

  /**
   * Keeps a form's inputs, as far as the session has room, for the next page to fill in again with {@link old}. Inputs
   * whose names contain password, passphrase, passcode, token or secret are left out at any depth.
   */
  flashInput(input: Readonly<Dictionary>): this {
    return this.flashOwn(OLD_INPUT, toSessionValue("old input", refillableInput(input)));
  }

  /**
   * The input of a form that is shown again.
   *
   * @param name the input's name, or a path: `items.0.name`
   */
  old(name: string, fallback: unknown = null): unknown {
    return inputAt(this.flashedOwn(OLD_INPUT, null) ?? this.#returned(), name) ?? fallback;
  }

  /** @internal Input that is waiting for its user; `null` if there isn't any. */
  get typed(): TypedForm | null {
    return (this.stored(TYPED) as TypedForm | undefined) ?? null;
  }

  /** @internal Keeps input until its user opens the form's page again; `null` forgets it. */
  keepTyped(typed: TypedForm | null): void {
    if (typed === null && this.typed === null) return;
    this.store(TYPED, typed === null ? null : toSessionValue("old input", typed));
  }

  /**
   * The input that has been waiting for this page and its user. From now on, it is treated like any other flashed
   * input.
   */
  #returned(): unknown {
    const { typed } = this;
    if (typed === null || !this.#isFor(typed)) return null;
    this.keepTyped(null);
    this.receive(OLD_INPUT, typed.input);
    return typed.input;
  }

  /**
   * Keeps errors by field for the next page, which shows them with {@link errors} in the visitor's language. They may
   * be the `errors` of a `ValidationError`, messages from `t.message()`, or text that is shown unchanged.
   */
  flashErrors(errors: FieldSentences): this {
    this.#hasShownErrors = false;
    return this.flashOwn(ERRORS, toSessionValue("errors", toStoredErrors(errors)));
  }

  /**
   * @internal Whether the text of any of this request's messages was read, for example by a page that shows it, and not
   * only counted.
   */
  get hasShownErrors(): boolean {
    return this.#hasShownErrors;
  }

  /** @internal Removes the old input and the messages that this request has flashed. */
  forgetMistakes(): void {
    this.discard(OLD_INPUT, ERRORS);
  }

  /**
   * The errors by field of a form that is shown again, as a new dictionary: the broken rules, their parameters, and the
   * sentences in the visitor's language. Errors of the form as a whole are under `""`.
   */
  errors(): FieldErrors {
    const stored = this.flashedOwn(ERRORS, null);
    // Most pages are shown without errors.
    if (stored === null) return dictionary<Message[]>();
    const errors = readStoredErrors(stored, this.#t);
    // A page may check for errors, for example to change its title, without showing them.
    if (this.flashedHere(ERRORS) !== undefined) noteReading(errors, () => (this.#hasShownErrors = true));
    return errors;
  }

  /**
   * Remembers where the visitor was heading, for {@link intended}. Anything but a path of the application, or an absolute
   * URL of an origin in `APP.trustedOrigins`, is ignored.
   *
   * @param guard the guard whose login is required, because each guard has its own destination; `null` for the default
   * guard
   */
  intend(path: string, guard: string | null = null): this {
    const target = this.#permitted(path, "");
    return target === "" ? this : this.put(intendedKey(guard), target);
  }

  /**
   * Returns where the visitor was heading, and removes it.
   *
   * @param fallback where to go if nothing was stored; it comes from the application and is not checked
   * @param guard as in {@link intend}
   */
  intended(fallback = "/", guard: string | null = null): string {
    return this.#permitted(this.pull(intendedKey(guard)), fallback);
  }

  /** Checks a destination. This is also done when it is read, because its origin may no longer be listed. */
  #permitted(target: unknown, fallback: string): string {
    return trustedUrl(this.#origins, target) ?? redirectTarget(target, fallback);
  }

  /** @internal The contents to keep, as text, with as much old input as fits into this many bytes. */
  encodeWithin(maxBytes: number): string | null {
    this.remove(TYPED);
    const input = this.flashedHere(OLD_INPUT);
    if (input === undefined) return this.encode();
    this.replaceFlashed(OLD_INPUT, undefined);
    const room = maxBytes - Buffer.byteLength(this.encode() ?? "") - ROOM_AROUND_INPUT;
    const fitting = fittingInput(input as Dictionary, room);
    // Even empty input would need room.
    if (Object.keys(fitting).length > 0) this.replaceFlashed(OLD_INPUT, fitting);
    return this.encode();
  }
}

function intendedKey(guard: string | null): string {
  return guard === null ? INTENDED : `${INTENDED}.${guard}`;
}

/** The error for using a session when none is open. */
export function sessionNotOpen(): AshlarError {
  return new AshlarError(
    "E_SESSION",
    "There is no session here: the route does not go through SessionMiddleware, or has not reached it yet. Put SessionMiddleware first in the stack, in routeMiddleware of app/kernel.ts.",
  );
}
