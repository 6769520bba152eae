import { AshlarError, type HttpContext, Route, type RouteEntry } from "ashlar";
import { Api } from "ashlar/api";
import { asAuthenticatable } from "ashlar/auth";
import { enterByIdentity, identityOf } from "./enter-by-identity.ts";
import type { SiteIdentity } from "./example-site.ts";
import type { VisitPurpose } from "./visits.ts";

/** Logs users in by their account at the other site, and has them confirm by it. */
export class ExampleSiteController {
  /** For the web routes list: `...ExampleSiteController.routes()`. */
  static routes(): readonly RouteEntry[] {
    return [
      Route.get("/login/example", [ExampleSiteController, "logIn"]).name("example-site.login"),
      Route.get("/confirm/example", [ExampleSiteController, "confirm"])
        .name("example-site.confirm")
        .middleware("auth.page"),
      Route.get("/account/example/connect", [ExampleSiteController, "connect"])
        .name("example-site.connect")
        .middleware("auth.page", "password.confirm:10"),
      Route.get("/login/example/callback", [ExampleSiteController, "comeBack"]).name("example-site.callback"),
      Route.post("/login/example/callback", [ExampleSiteController, "comeBack"]),
      Route.group({ withoutMiddleware: ["web"] }, [
        Route.post("/api/example/visits", [ExampleSiteController, "begin"]).respondsWithJson(),
        Route.post("/api/example", [ExampleSiteController, "issue"]).respondsWithJson().bodyLimit("64kb"),
      ]),
    ];
  }

  /** GET /login/example */
  logIn(context: HttpContext): unknown {
    return this.#visit(context, "login");
  }

  /** GET /confirm/example */
  confirm(context: HttpContext): unknown {
    return this.#visit(context, "confirm");
  }

  /** GET /account/example/connect */
  connect(context: HttpContext): unknown {
    return this.#visit(context, "connect");
  }

  /** GET /login/example/callback, where the other site sends visitors back; POST for a front end, which has the code. */
  async comeBack(context: HttpContext): Promise<unknown> {
    const { auth, identities, request } = context;
    const visit = identities.visits.end(context, request.string("state", ""));
    const identity = await identityOf(context, visit);
    try {
      if (visit?.purpose === "confirm") return await this.#finishConfirmation(context, identity);
      if (visit?.purpose === "connect") return await this.#finishConnection(context, identity);
      return await this.#finishLogin(context, identity);
    } catch (error) {
      if (!(error instanceof AshlarError && error.code === "E_EXAMPLE_SITE")) throw error;
      const page = (await auth.check()) ? "account.example-site" : "login";
      return auth.refuse(error, () => auth.redirectToRoute(page));
    }
  }

  async #finishLogin(context: HttpContext, identity: SiteIdentity | null): Promise<unknown> {
    const { auth, t } = context;
    const login = await enterByIdentity(context, auth.webGuard, identity);
    if (login.status === "complete") return auth.answer({ status: "complete" }, () => auth.redirectToIntended("home"));
    if (login.status === "pending" || login.step !== null) return auth.answerStep();
    throw new AshlarError("E_EXAMPLE_SITE", t.message("exampleSite.failed"));
  }

  async #finishConfirmation(context: HttpContext, identity: SiteIdentity | null): Promise<unknown> {
    const { auth, identities, t } = context;
    const user = await auth.user();
    const owner = await identities.ownerOf(identity);
    const isOwn = user !== null && String(owner?.authId()) === String(asAuthenticatable(user).authId());
    if (!isOwn) {
      await auth.webGuard.fail({ by: "example-site", user });
      throw new AshlarError("E_EXAMPLE_SITE", t.message("exampleSite.foreign"));
    }
    if (!(await auth.webGuard.confirm({ by: "example-site" }))) return auth.answerStep();
    return auth.answer({ status: "confirmed" }, () => auth.redirectToIntended("home"));
  }

  async #finishConnection(context: HttpContext, identity: SiteIdentity | null): Promise<unknown> {
    const { auth, identities, t } = context;
    const user = await auth.user();
    if (user === null || identity === null) {
      throw new AshlarError("E_EXAMPLE_SITE", t.message("exampleSite.failed"));
    }
    if (!(await identities.connect(asAuthenticatable(user), identity))) {
      throw new AshlarError("E_EXAMPLE_SITE", t.message("exampleSite.used"));
    }
    const message = t("exampleSite.connected");
    return auth.answer({ status: "connected", message }, () => auth.redirectToRoute("account.example-site"));
  }

  /** POST /api/example/visits: where an API client sends its user, and the state that it comes back with. */
  begin({ identities }: HttpContext): object {
    const { state, nonce } = identities.visits.beginForClient();
    return { data: { url: identities.site.authorizationUrl(state, nonce), state } };
  }

  /** POST /api/example: a token, as of `POST /api/auth`. */
  async issue(context: HttpContext): Promise<unknown> {
    const { auth, identities, request } = context;
    const guard = auth.guard("jwt");
    const visit = identities.visits.endForClient(request.string("state", ""));
    return Api.respond(context, await enterByIdentity(context, guard, await identityOf(context, visit)));
  }

  #visit(context: HttpContext, purpose: VisitPurpose): unknown {
    const { auth, identities, response } = context;
    const { state, nonce } = identities.visits.begin(context, purpose);
    const url = identities.site.authorizationUrl(state, nonce);
    return auth.answer({ url }, () => response.away(url));
  }
}
