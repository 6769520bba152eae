import { AshlarError, type HttpContext, Route, type RouteEntry, ValidationError } from "ashlar";
import { asAuthenticatable } from "ashlar/auth";
import { newSecret } from "./codes.ts";

const SECRET = "totp.secret";

/** Asks for codes, and turns them on and off. */
export class TotpController {
  /** For the web routes list: `...TotpController.routes()`. */
  static routes(): readonly RouteEntry[] {
    const own = ["auth.page", "password.confirm:10"] as const;
    return [
      Route.get("/login/totp", [TotpController, "show"]).name("totp"),
      Route.post("/login/totp", [TotpController, "store"]).name("totp.store"),
      Route.get("/account/totp", [TotpController, "setUp"])
        .name("account.totp")
        .middleware(...own),
      Route.post("/account/totp", [TotpController, "turnOn"])
        .name("account.totp.store")
        .middleware(...own),
      Route.delete("/account/totp", [TotpController, "turnOff"])
        .name("account.totp.destroy")
        .middleware(...own),
    ];
  }

  /** GET /login/totp: where a login waits. */
  async show({ auth, view }: HttpContext): Promise<unknown> {
    const login = await auth.pendingLogin();
    if (login === null) return auth.redirectToRoute("login");
    return auth.answer({ status: "pending", step: login.step }, () => view.render("totp::login"));
  }

  /** POST /login/totp: asks the step again, which finds the code in this request. */
  async store({ auth }: HttpContext): Promise<unknown> {
    const login = await auth.pendingLogin();
    if (login === null) return auth.refuse(new AshlarError("E_UNAUTHENTICATED"), () => auth.redirectToRoute("login"));
    const { status } = await login.resume();
    if (status !== "complete") return auth.answerStep();
    return auth.answer({ status }, () => auth.redirectToIntended("home"));
  }

  /** GET /account/totp */
  async setUp({ auth, request, session, totp, view }: HttpContext): Promise<unknown> {
    const isOn = await totp.isOn(asAuthenticatable(request.user()!));
    if (isOn) return auth.answer({ isOn }, () => view.render("totp::account", { isOn }));
    const secret = session.get(SECRET) ?? newSecret();
    session.put(SECRET, secret);
    return auth.answer({ isOn, secret }, () => view.render("totp::account", { isOn, secret }));
  }

  /** POST /account/totp */
  async turnOn({ auth, request, session, t, totp }: HttpContext): Promise<unknown> {
    const user = asAuthenticatable(request.user()!);
    const secret = String(session.get(SECRET, ""));
    if (!(await totp.turnOn(user, secret, request.string("totp_code", "")))) {
      throw new ValidationError({ totp_code: [t.message("totp.wrong")] });
    }
    session.forget(SECRET);
    // Logins without a code, on other devices, end.
    await auth.logins().endOthers();
    return auth.answer({ status: "on", message: t("totp.turnedOn") }, () => auth.redirectToRoute("home"));
  }

  /** DELETE /account/totp */
  async turnOff({ auth, request, t, totp }: HttpContext): Promise<unknown> {
    await totp.deleteAll(asAuthenticatable(request.user()!).authId());
    return auth.answer({ status: "off", message: t("totp.turnedOff") }, () => auth.redirectToRoute("home"));
  }
}
