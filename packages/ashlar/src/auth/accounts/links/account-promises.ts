import type { Application } from "../../../boot/index.ts";
import { type HttpContext, setPeerAddress } from "../../../http/index.ts";
import { runFor } from "../../../kernel/index.ts";

/**
 * Work that was promised with a response.
 *
 * @param context the request's context; in another process, a context with the same client, language and guard
 * @param data the request's data
 * @param known data that the request had in memory; `null` in another process
 */
export type AccountWork<Data, Known> = (context: HttpContext, data: Data, known: Known | null) => Promise<void>;

/** Promises work before the response is sent. */
export type PromiseWork<Data, Known> = (context: HttpContext, data: Data, known?: Known) => Promise<void>;

/** The stored data of a request. */
interface StoredRequest<Data> {
  readonly data: Data;
  readonly guard: string;
  readonly address: string | null;
  readonly acceptLanguage: string | null;
  /** The origin of the host of `APP.hosts` that was requested; missing or `null` for the origin of `APP_URL`. */
  readonly origin?: string | null;
}

/** Reports whether stored work names an account by its key: a warning about guesses, or a change of address. */
export function isWorkAbout(work: unknown, guards: readonly string[], id: string): boolean {
  const { data, guard } = work as StoredRequest<{ readonly id?: unknown; readonly guard?: unknown } | null>;
  const key = data?.id ?? null;
  return key !== null && String(key) === id && guards.includes(String(data?.guard ?? guard));
}

/**
 * Work that must not show in a response, but must not be lost either, such as the work of a request for a reset link.
 * The account is only looked up after the response, so the promise is stored in the mail outbox for any address; if the
 * process dies, another one keeps the promise.
 */
export class AccountPromises {
  readonly #application: Application;
  readonly #works = new Map<string, AccountWork<never, never>>();

  constructor(application: Application) {
    this.#application = application;
  }

  /**
   * Declares a kind of work, and returns the function that promises it.
   *
   * @param name the stored name, which later versions must support too
   * @param title describes it in the log
   */
  declare<Data, Known = never>(name: string, title: string, work: AccountWork<Data, Known>): PromiseWork<Data, Known> {
    this.#works.set(name, work as AccountWork<never, never>);
    return async (context, data, known) => {
      const { background, container } = this.#application;
      // Code outside of any request, which waits for all jobs, may start it.
      const now = () => runFor(this.#application, work, context, data, known ?? null);
      if (!container.has("mail")) return background.runUnpredictably(title, now);
      await container.make("mail").promise(name, title, this.#stored(context, data), now);
    };
  }

  /** Lets this process do work promised by other processes. Called when providers boot. */
  start(): void {
    const { container } = this.#application;
    if (!container.has("mail")) return;
    const mailer = container.make("mail");
    for (const [name, work] of this.#works) {
      const keep = (request: StoredRequest<never>) => {
        const continued = async () => work(this.#contextOf(request), request.data, null);
        return this.#application.linkOrigin.under(request.origin ?? null, continued);
      };
      // Outside of a request, models must be assigned to one of several applications.
      mailer.keepPromises(name, (kept) => runFor(this.#application, keep, kept as StoredRequest<never>));
    }
  }

  #contextOf({ guard, address, acceptLanguage }: StoredRequest<unknown>): HttpContext {
    const raw = new Request(this.#application.url, {
      headers: acceptLanguage === null ? {} : { "accept-language": acceptLanguage },
    });
    if (address !== null) setPeerAddress(raw, address);
    const context = this.#application.serving.contextFor(raw);
    context.auth.guard(guard);
    return context;
  }

  #stored<Data>({ auth, request }: HttpContext, data: Data): StoredRequest<Data> {
    return {
      data,
      guard: auth.guardName,
      address: request.clientAddress,
      acceptLanguage: request.header("accept-language"),
      origin: this.#application.linkOrigin.requested,
    };
  }
}
