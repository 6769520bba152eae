import { AshlarError, ConfigurationError, type ErrorCode } from "../errors.ts";

/**
 * Collects the problems of an application's setup, so that its author sees all of them at once rather than one per
 * start.
 */
export class SetupProblems {
  readonly #errors: AshlarError[] = [];
  /** The names of failed parts, such as providers' classes. */
  readonly #failed: string[] = [];

  /** Whether anything has been collected. */
  get any(): boolean {
    return this.#errors.length > 0;
  }

  /** Whether a part has failed, in which case others may lack its services. */
  get hasFailed(): boolean {
    return this.#failed.length > 0;
  }

  /** The settings, files and variables that the collected errors name. */
  get places(): readonly string[] {
    return this.#errors.flatMap((error) => (error instanceof ConfigurationError ? [error.where] : []));
  }

  /**
   * Collects an error.
   *
   * @param name the failed part; later errors that name it are consequences, and are omitted
   * @throws the error itself if it isn't about the setup; if other errors have been collected, those are thrown instead
   */
  add(error: unknown, name: string | null = null): void {
    if (!isAboutSetup(error)) {
      // Report a server that is down. An unexpected error may be a consequence of an earlier failure.
      if (error instanceof AshlarError && this.any) this.#errors.push(error);
      this.end();
      throw error;
    }
    const single = error instanceof SeveralProblemsError ? error.errors : [error];
    for (const one of single) this.#addNew(one);
    if (name !== null) this.#failed.push(name);
  }

  /**
   * Runs a step, and collects its error.
   *
   * @param name the name of the part that fails with the step; see {@link add}
   * @returns what the step returns; `undefined` if it failed
   * @throws the same as {@link add}
   */
  try<T>(step: () => T, name: string | null = null): T | undefined {
    try {
      return step();
    } catch (error) {
      this.add(error, name);
      return undefined;
    }
  }

  /** Like {@link try}, for an asynchronous step. */
  async run<T>(step: () => Promise<T> | T, name: string | null = null): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      this.add(error, name);
      return undefined;
    }
  }

  /**
   * The collected errors: a single one unchanged; several as one error with a line for each, with the code that they
   * share, or else `E_INVALID_CONFIGURATION`. `null` if nothing was collected.
   */
  get error(): AshlarError | null {
    const [first, ...others] = this.#errors;
    if (first === undefined) return null;
    return others.length === 0 ? first : new SeveralProblemsError(this.#errors);
  }

  /** @throws {@link error}, if there is one */
  end(): void {
    const { error } = this;
    if (error !== null) throw error;
  }

  /** Adds an error, which may have several lines, such as one for each route. Omits consequences of known errors. */
  #addNew(error: AshlarError): void {
    const lines = error.message.split("\n");
    const fresh = lines.filter((line) => !this.#isKnown(line, error.code));
    if (fresh.length === 0) return;
    const { code, cause } = error;
    const isWhole = fresh.length === lines.length;
    this.#errors.push(isWhole ? error : new AshlarError(code, fresh.join("\n"), { cause }));
  }

  /**
   * Whether a line has been reported. A service that can't be created is requested repeatedly, and fails with the same
   * message each time, possibly after a different location.
   */
  #isKnown(line: string, code: ErrorCode): boolean {
    if (this.#errors.some(({ message }) => line.includes(message))) return true;
    // Parts that depend on a failed one report it as missing, under various names.
    return this.#failed.some((name) => code === "E_UNKNOWN_SERVICE" || line.includes(name));
  }
}

/** Thrown if the setup has several problems. */
export class SeveralProblemsError extends AshlarError {
  /** The problems, in the order in which they were found. */
  declare readonly errors: readonly AshlarError[];

  constructor(errors: readonly AshlarError[]) {
    const [first] = errors;
    const code = errors.every((error) => error.code === first!.code) ? first!.code : "E_INVALID_CONFIGURATION";
    // Any of the errors' locations would do. This is the first one's.
    super(code, errors.map(({ message }) => message).join("\n"), { cause: first!.cause });
    // Not enumerable, because the message contains all of them.
    Object.defineProperty(this, "errors", { value: Object.freeze([...errors]) });
  }
}

/**
 * Whether an author can fix the error. Clients' errors have a status below 500, and errors about servers that are down
 * have 503.
 */
function isAboutSetup(error: unknown): error is AshlarError {
  if (error instanceof ConfigurationError) return true;
  return error instanceof AshlarError && error.status === 500 && error.code !== "E_INTERNAL";
}
