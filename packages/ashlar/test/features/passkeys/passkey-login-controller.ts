import { type HttpContext, Route, type RouteEntry, ValidationError } from "ashlar";
import { Api } from "ashlar/api";
import { asAuthenticatable } from "ashlar/auth";
import { enterByPasskey, verifyPasskey } from "./enter-by-passkey.ts";

/** Logs users in by a passkey, and has them confirm by one. */
export class PasskeyLoginController {
  /** For the web routes list: `...PasskeyLoginController.routes()`. */
  static routes(): readonly RouteEntry[] {
    return [
      Route.get("/login/passkey", [PasskeyLoginController, "show"]).name("passkeys.login"),
      Route.post("/login/passkey", [PasskeyLoginController, "store"]).name("passkeys.login.store"),
      Route.get("/confirm/passkey", [PasskeyLoginController, "showConfirmation"])
        .name("passkeys.confirm")
        .middleware("auth.page"),
      Route.post("/confirm/passkey", [PasskeyLoginController, "confirm"])
        .name("passkeys.confirm.store")
        .middleware("auth.page"),
      Route.group({ withoutMiddleware: ["web"] }, [
        Route.post("/api/passkey/challenge", [PasskeyLoginController, "challenge"]).respondsWithJson(),
        Route.post("/api/passkey", [PasskeyLoginController, "issue"]).respondsWithJson().bodyLimit("64kb"),
      ]),
    ];
  }

  /** GET /login/passkey */
  async show(context: HttpContext): Promise<unknown> {
    const { auth, passkeys, view } = context;
    if (await auth.check()) return auth.redirectToRoute("home");
    const challenge = passkeys.challenges.forVisitor(context);
    return auth.answer({ challenge }, () => view.render("passkeys::login", { challenge }));
  }

  /** POST /login/passkey */
  async store(context: HttpContext): Promise<unknown> {
    const { auth, passkeys } = context;
    const isOwn = (challenge: string) => passkeys.challenges.isOfVisitor(context, challenge);
    const login = await enterByPasskey(context, auth.webGuard, isOwn);
    if (login.status === "complete") return auth.answer({ status: "complete" }, () => auth.redirectToIntended("home"));
    if (login.status === "pending" || login.step !== null) return auth.answerStep();
    throw new ValidationError({ assertion: [login.message] });
  }

  /** GET /confirm/passkey */
  showConfirmation(context: HttpContext): unknown {
    const { auth, passkeys, view } = context;
    const challenge = passkeys.challenges.forVisitor(context);
    return auth.answer({ challenge }, () => view.render("passkeys::confirm", { challenge }));
  }

  /** POST /confirm/passkey */
  async confirm(context: HttpContext): Promise<unknown> {
    const { auth, passkeys, request, t } = context;
    const own = asAuthenticatable(request.user()!);
    const { user, amr } = await verifyPasskey(context, (text) => passkeys.challenges.isOfVisitor(context, text));
    if (user === null || String(user.authId()) !== String(own.authId())) {
      await auth.webGuard.fail({ by: "passkey", user: own });
      throw new ValidationError({ assertion: [t.message("passkeys.foreign")] });
    }
    if (!(await auth.webGuard.confirm({ by: "passkey", amr }))) return auth.answerStep();
    return auth.answer({ status: "confirmed" }, () => auth.redirectToIntended("home"));
  }

  /** POST /api/passkey/challenge */
  challenge({ passkeys }: HttpContext): object {
    return { data: passkeys.challenges.forClient() };
  }

  /** POST /api/passkey: a token, as of `POST /api/auth`. */
  async issue(context: HttpContext): Promise<unknown> {
    const { auth, passkeys } = context;
    const login = await enterByPasskey(context, auth.guard("jwt"), (text) => passkeys.challenges.isOwn(text));
    return Api.respond(context, login);
  }
}
