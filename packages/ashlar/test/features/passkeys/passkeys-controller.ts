import { type HttpContext, Route, type RouteEntry, ValidationError } from "ashlar";
import { asAuthenticatable } from "ashlar/auth";
import { readAssertion } from "./assertion.ts";

/** The passkeys of the user who is logged in. */
export class PasskeysController {
  /** For the web routes list: `...PasskeysController.routes()`. */
  static routes(): readonly RouteEntry[] {
    const own = ["auth.page", "password.confirm:10"] as const;
    return [
      Route.get("/account/passkeys", [PasskeysController, "index"])
        .name("account.passkeys")
        .middleware(...own),
      Route.post("/account/passkeys", [PasskeysController, "store"])
        .name("account.passkeys.store")
        .middleware(...own),
      Route.delete("/account/passkeys/@id", [PasskeysController, "destroy"])
        .name("account.passkeys.destroy")
        .middleware(...own),
    ];
  }

  /** GET /account/passkeys */
  async index(context: HttpContext): Promise<unknown> {
    const { auth, passkeys, request, view } = context;
    const all = await passkeys.list(asAuthenticatable(request.user()!));
    const challenge = passkeys.challenges.forVisitor(context);
    const shown = { challenge, passkeys: all.map(({ id, name }) => ({ id, name })) };
    return auth.answer(shown, () => view.render("passkeys::index", shown));
  }

  /** POST /account/passkeys */
  async store(context: HttpContext): Promise<unknown> {
    const { auth, passkeys, request, t } = context;
    const made = readAssertion(request.bodyInput("assertion"));
    const user = asAuthenticatable(request.user()!);
    const name = request.string("name", "").trim() || "Passkey";
    const isNew = made !== null && passkeys.challenges.isOfVisitor(context, made.challenge);
    if (!isNew || !(await passkeys.add(user, name.slice(0, 100), made))) {
      throw new ValidationError({ assertion: [t.message("passkeys.refused")] });
    }
    const message = t("passkeys.added");
    return auth.answer({ status: "added", message }, () => auth.redirectToRoute("account.passkeys"));
  }

  /** DELETE /account/passkeys/@id: only the user's own, whatever the id. */
  async destroy({ accounts, auth, passkeys, request, t }: HttpContext): Promise<unknown> {
    const user = request.user()!;
    const own = { id: request.param("id") ?? "", user_id: asAuthenticatable(user).authId() };
    const isRemoved = await accounts.removeMethod(user, async () => void (await passkeys.revoke(own)));
    if (!isRemoved) throw new ValidationError({ passkey: [t.message("passkeys.last")] });
    const message = t("passkeys.removed");
    return auth.answer({ status: "removed", message }, () => auth.redirectToRoute("account.passkeys"));
  }
}
