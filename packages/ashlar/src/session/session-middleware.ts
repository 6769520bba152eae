import { type HttpContext, type Middleware, markUserUnknown, type Next } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import type { Router } from "../routing/index.ts";
import { isThenable, type MaybePromise } from "../support/index.ts";
import { backToForm } from "./forms/back-to-form.ts";
import { leadBackFromFailure, typedIsLost } from "./forms/failed-form.ts";
import { formAgain } from "./forms/form-again.ts";
import { heldSession, RequestSession } from "./sessions/request-session.ts";
import { type SessionManager, sessionManagerOf } from "./sessions/session-manager.ts";

/**
 * Provides the request's session, and saves what changed in it, even if the handler throws. Put it first in the stack
 * `web`.
 *
 * The session is opened on first use; a visitor who doesn't need one gets no cookie. A session that is kept in a store
 * is read here, if the request has its cookie.
 *
 * An `E_INVALID_INPUT` that a form's handler throws becomes a redirect back to the form, with the messages and the
 * input flashed, or the form itself (422) if that is more than the session can hold. If a form's page has expired
 * (419), or the form was sent too often (429), the response is the form itself, filled in. If the server has failed, or
 * the form is too large, the error page leads back to the form, which is then filled in. Callers that want JSON get the
 * problem document.
 */
export class SessionMiddleware implements Middleware {
  readonly #manager: SessionManager;
  readonly #router: Router;

  /** @throws `E_INVALID_CONFIGURATION` in an application without sessions */
  constructor(container: Container) {
    this.#manager = sessionManagerOf(container);
    this.#router = container.make("router");
  }

  /** @throws `E_SESSION` if the session holds more than its store has room for */
  handle(context: HttpContext, next: Next): unknown {
    if (heldSession(context) !== null) return next();
    const held = new RequestSession(context, this.#manager);
    const loading = held.load();
    if (!isThenable(loading)) return this.#run(context, held, next);
    return loading.then(
      () => this.#run(context, held, next),
      (error: unknown) => this.#unread(context, held, error),
    );
  }

  #run(context: HttpContext, held: RequestSession, next: Next): unknown {
    let result: unknown;
    try {
      result = next();
    } catch (error) {
      return this.#failed(context, held, error);
    }
    return isThenable(result) ? this.#later(context, held, result) : after(held.close(), result);
  }

  async #later(context: HttpContext, held: RequestSession, pending: PromiseLike<unknown>): Promise<unknown> {
    let result: unknown;
    try {
      result = await pending;
    } catch (error) {
      return this.#failed(context, held, error);
    }
    await held.close();
    return result;
  }

  /** If a visitor's session couldn't be read, nothing is known about them, and no user is looked up. */
  async #unread(context: HttpContext, held: RequestSession, error: unknown): Promise<never> {
    markUserUnknown(context);
    await this.#again(context, held, error);
    throw error;
  }

  async #failed(context: HttpContext, held: RequestSession, error: unknown): Promise<unknown> {
    const response = await this.#again(context, held, error);
    if (response !== null) {
      await held.close();
      return response;
    }
    try {
      // What changed before the failure is saved.
      await held.close();
    } catch (second) {
      typedIsLost(context);
      this.#manager.report(second);
    }
    throw error;
  }

  async #again(context: HttpContext, held: RequestSession, error: unknown): Promise<unknown> {
    try {
      return (
        (await backToForm(context, held, error, this.#router)) ??
        (await this.#manager.respondToError(context, error)) ??
        (await formAgain(context, held, error, this.#router)) ??
        (await leadBackFromFailure(context, held, error, this.#router))
      );
    } catch (second) {
      // The first failure is the one to report.
      this.#manager.report(second, "A form could not be shown again.");
      return null;
    }
  }

  /** This middleware reads no input. */
  beforeBody(): boolean {
    return true;
  }
}

function after(work: MaybePromise<void>, result: unknown): unknown {
  return isThenable(work) ? work.then(() => result) : result;
}
