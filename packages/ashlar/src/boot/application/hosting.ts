import type { HttpContext } from "../../http/index.ts";
import { AnsweredError, type Dispatcher, fetchTraced, runApart, throughProxies } from "../../kernel/index.ts";
import { type AddressWarnings, type HostRequest, withoutItsBody } from "../../server/index.ts";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { Application } from "./application.ts";
import "../../http/index.ts";

/** The dependencies of {@link Hosting}. */
export interface HostingDependencies {
  readonly application: Application;
  /** What responds to requests; `null` unless the application runs. */
  readonly dispatcher: () => Dispatcher | null;
  /** The response of an application that doesn't run. */
  readonly refusal: (request: Request) => Response;
  readonly warnings: AddressWarnings | null;
}

/** What an application does for handlers of another framework, which respond to their requests themselves. */
export class Hosting {
  readonly #dependencies: HostingDependencies;

  constructor(dependencies: HostingDependencies) {
    this.#dependencies = dependencies;
  }

  /** See {@link Application.host}. */
  async run<T>(
    request: HostRequest,
    address: string | undefined,
    work: (context: HttpContext) => MaybePromise<T>,
  ): Promise<T> {
    const { application, warnings } = this.#dependencies;
    const dispatcher = this.#dependencies.dispatcher();
    if (dispatcher === null) throw new AshlarError("E_SHUTTING_DOWN");
    const raw = withoutItsBody(request, address);
    warnings?.look(raw);
    const forwarded = throughProxies(raw, application.settings.trustedProxies);
    return await runApart(application, fetchTraced<T>, () => dispatcher.hosted.run(forwarded, work));
  }

  /** See {@link Application.errorResponse}. */
  async errorResponse(request: HostRequest, address: string | undefined, error: unknown): Promise<Response> {
    if (error instanceof AnsweredError) return error.response;
    const { application, refusal } = this.#dependencies;
    const dispatcher = this.#dependencies.dispatcher();
    let raw: Request;
    let thrown = error;
    try {
      raw = throughProxies(withoutItsBody(request, address), application.settings.trustedProxies);
    } catch (refused) {
      // It is so malformed that nothing of it can be used.
      raw = new Request("http://localhost/");
      thrown = refused;
    }
    if (dispatcher === null) return refusal(raw);
    return await runApart(application, fetchTraced, () => dispatcher.rescue(raw, thrown));
  }
}
