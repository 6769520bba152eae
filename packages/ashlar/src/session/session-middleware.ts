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
 * Provides the request's session, and saves its changes, even if the handler throws. Put it first in the stack `web`.
 *
 * The session is opened on first use, so a visitor who doesn't need one gets no cookie. If sessions are kept in a store
 * and the request has the cookie, the session is read here.
 *
 * If a form's handler throws `E_INVALID_INPUT`, the response is a redirect back to the form, with the messages and the
 * input flashed, or the form itself (422) if the session can't hold them. If a form's page has expired (419), or there
 * were too many attempts (429), the response is the form itself, filled in. If the server has failed, or the form is
 * too large, the error page links back to the form, which is then filled in. Clients that accept JSON get the problem
 * document.
 */
export class SessionMiddleware implements Middleware {
  readonly #manager: SessionManager;
  readonly #router: Router;

  /** @throws `E_INVALID_CONFIGURATION` in an application without sessions */
  constructor(container: Container) {
    this.#manager = sessionManagerOf(container);
    this.#router = container.make("router");
  }

  /** @throws `E_SESSION` if the session is larger than its store allows */
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

  /**
   * Handles a session that couldn't be read. In that case, nothing is known about the visitor, and no user is looked
   * up.
   */
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
      // Changes from before the failure are saved.
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
      // The response is about the first failure.
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
