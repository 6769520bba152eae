import type { HttpContext } from "../../http/index.ts";
import { AnsweredError, fetchTraced, runApart, throughProxies } from "../../kernel/index.ts";
import { type HostRequest, withoutItsBody } from "../../server/index.ts";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { Application } from "./application.ts";
import type { Serving } from "./serving.ts";
import "../../http/index.ts";

/** Supports handlers of another framework, which respond to their requests themselves. */
export class Hosting {
  readonly #application: Application;
  readonly #serving: Serving;

  constructor(application: Application, serving: Serving) {
    this.#application = application;
    this.#serving = serving;
  }

  /**
   * Runs work for a request that another framework responds to: with a context, for this application, and inside the
   * middleware of every request.
   *
   * @param request the request; its body isn't read
   * @param address the socket's address, if the request doesn't have it
   * @returns the work's result
   * @throws `E_SHUTTING_DOWN` unless the application runs; `E_BAD_REQUEST` if the host or target is malformed; `E_ANSWERED` if a
   * middleware responds; errors of the middleware and the work
   */
  async run<T>(
    request: HostRequest,
    address: string | undefined,
    work: (context: HttpContext) => MaybePromise<T>,
  ): Promise<T> {
    const { dispatcher, warnings } = this.#serving;
    if (dispatcher === null) throw new AshlarError("E_SHUTTING_DOWN");
    const raw = withoutItsBody(request, address);
    warnings?.look(raw);
    const forwarded = throughProxies(raw, this.#application.settings.trustedProxies);
    return await runApart(this.#application, fetchTraced<T>, () => dispatcher.hosted.run(forwarded, work));
  }

  /** See {@link Application.errorResponse}. */
  async errorResponse(request: HostRequest, address: string | undefined, error: unknown): Promise<Response> {
    if (error instanceof AnsweredError) return error.response;
    const { dispatcher } = this.#serving;
    let raw: Request;
    let thrown = error;
    try {
      raw = throughProxies(withoutItsBody(request, address), this.#application.settings.trustedProxies);
    } catch (refused) {
      // The request is too malformed to use any part of it.
      raw = new Request("http://localhost/");
      thrown = refused;
    }
    if (dispatcher === null) return this.#serving.refusal(raw);
    return await runApart(this.#application, fetchTraced, () => dispatcher.rescue(raw, thrown));
  }
}
