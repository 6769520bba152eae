import { setImmediate as nextTurn } from "node:timers/promises";
import { ConnectionBuilder, TransactionBuilder } from "kysely";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import "../errors.ts";

/** Creates the Kysely for a migration; `check` is called before each statement, and throws to refuse it. */
type MakeKysely<K> = (check: () => void) => K;

/**
 * Runs a migration's function with a Kysely that detects every statement that was not awaited: one whose promise the
 * function dropped, or that is still running when the function returns. After it has returned, nothing more runs.
 *
 * Dropped statements that were written with `sql` are detected if they are still running, or if they failed.
 *
 * @throws the function's errors; `E_MIGRATION` with the statement
 */
export async function runAwaited<K extends object, T>(
  make: MakeKysely<K>,
  task: (kysely: K) => MaybePromise<T>,
): Promise<T> {
  const statements = new Statements();
  // The promise of a dropped helper function would reject unhandled, which would end the process.
  process.on("unhandledRejection", statements.claimRejection);
  try {
    const kysely = statements.watch(make(() => statements.checkOpen()));
    const [outcome] = await Promise.allSettled([call(task, kysely)]);
    await statements.close();
    // A dropped statement that fails makes the next ones fail too; it is the one to fix.
    const complaint = statements.complaint(outcome);
    if (complaint !== null) throw complaint;
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  } finally {
    process.off("unhandledRejection", statements.claimRejection);
  }
}

/** Calls a function, and turns synchronous errors into rejections. */
async function call<A, T>(task: (given: A) => MaybePromise<T>, given: A): Promise<T> {
  return await task(given);
}

/** A statement's promise that knows whether anything awaits it. */
class Tracked<T> extends Promise<T> {
  // `then` returns an ordinary promise.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  isHandled = false;

  // biome-ignore lint/suspicious/noThenProperty: every `await` calls it, and there is no other way to notice that.
  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isHandled = true;
    return super.then(fulfilled, rejected);
  }
}

interface Statement {
  readonly sql: string | null;
  readonly promise: Tracked<unknown>;
  isSettled: boolean;
}

class Statements {
  readonly #all: Statement[] = [];
  readonly #errors = new Set<unknown>();
  #dropped: Statement | undefined;
  #running: Statement | undefined;
  #unseen: unknown = null;
  #isClosed = false;

  /** Refuses statements of a function that was left running. */
  checkOpen(): void {
    if (this.#isClosed) throw new AshlarError("E_MIGRATION", "The migration's function has already returned.");
  }

  /** Ends it: waits for statements that are still running, so that their errors are known. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#dropped = this.#all.find(({ promise }) => !promise.isHandled);
    this.#running = this.#all.find(({ isSettled }) => !isSettled);
    let known = -1;
    while (known !== this.#all.length) {
      known = this.#all.length;
      await Promise.allSettled(this.#all.map(({ promise }) => promise));
      // Unhandled rejections are reported between two turns of the event loop.
      await nextTurn();
    }
  }

  /** The problem with a statement that was not awaited, or `null`. */
  complaint({ status }: PromiseSettledResult<unknown>): AshlarError | null {
    // If one statement in a `Promise.all` failed, others may still be running although they were awaited.
    const statement = this.#dropped ?? (status === "fulfilled" ? this.#running : undefined);
    if (statement === undefined && this.#unseen === null) return null;
    const sql = statement?.sql ?? null;
    const which = sql === null ? "A statement was not awaited." : `A statement was not awaited: ${sql}.`;
    const failure = this.#unseen instanceof Error ? ` It failed: ${this.#unseen.message}` : "";
    return new AshlarError("E_MIGRATION", `${which} Write "await" before it.${failure}`);
  }

  readonly claimRejection = (reason: unknown): void => {
    if (this.#errors.has(reason)) this.#unseen = reason;
    // The same outcome as without the listener.
    else if (process.listenerCount("unhandledRejection") === 1) throw reason;
  };

  /** The object, with tracked promises from its methods, and from the builders that these return. */
  watch<O extends object>(target: O): O {
    return new Proxy(target, {
      get: (_, key) => {
        // With the object itself as `this`: a proxy has no access to its private fields.
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return this.#watched(value);
        return (...values: unknown[]) => {
          const isScope = target instanceof TransactionBuilder || target instanceof ConnectionBuilder;
          const given = isScope ? values.map((one) => this.#withWatched(one)) : values;
          const result: unknown = value.apply(target, given);
          return result instanceof Promise ? this.#track(result, sqlOf(target, values)) : this.#watched(result);
        };
      },
    });
  }

  #withWatched(callback: unknown): unknown {
    if (typeof callback !== "function") return callback;
    return (kysely: object) => callback(this.watch(kysely));
  }

  /** Builders are instances of classes; nodes, results and values are not, and stay unchanged. */
  #watched(value: unknown): unknown {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.getPrototypeOf(value) === Object.prototype ? value : this.watch(value);
  }

  #track(result: Promise<unknown>, sql: string | null): Promise<unknown> {
    const promise = new Tracked<unknown>((resolve, reject) => {
      // One turn later on every database: otherwise SQLite would be done before the function returns.
      const settle = (end: () => void) => async () => {
        await nextTurn();
        statement.isSettled = true;
        end();
      };
      result.then(
        (value) => settle(() => resolve(value))(),
        (error: unknown) => {
          this.#errors.add(error);
          return settle(() => reject(error))();
        },
      );
    });
    const statement: Statement = { sql, promise, isSettled: false };
    this.#all.push(statement);
    // Handled, without counting as awaited: a dropped promise must not end the process.
    Promise.prototype.then.call(promise, undefined, () => undefined);
    return promise;
  }
}

/** The SQL of a builder, or of a compiled statement that an executor receives; without the values. */
function sqlOf(target: object, [given]: readonly unknown[]): string | null {
  if ("compile" in target && typeof target.compile === "function") return String(target.compile().sql);
  const { sql } = Object(given) as { readonly sql?: unknown };
  return typeof sql === "string" ? sql : null;
}
