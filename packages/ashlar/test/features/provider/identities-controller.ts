import { type HttpContext, Route, type RouteEntry, ValidationError } from "ashlar";
import { asAuthenticatable } from "ashlar/auth";

/** The account at the other site of the user who is logged in. */
export class IdentitiesController {
  /** For the web routes list: `...IdentitiesController.routes()`. */
  static routes(): readonly RouteEntry[] {
    return [
      Route.get("/account/example", [IdentitiesController, "show"])
        .name("account.example-site")
        .middleware("auth.page"),
      Route.delete("/account/example", [IdentitiesController, "destroy"])
        .name("account.example-site.destroy")
        .middleware("auth.page", "password.confirm:10"),
    ];
  }

  /** GET /account/example */
  async show({ auth, identities, request, view }: HttpContext): Promise<unknown> {
    const [own] = await identities.list(asAuthenticatable(request.user()!));
    const email = own?.email ?? null;
    return auth.answer({ email }, () => view.render("example-site::account", { email }));
  }

  /** DELETE /account/example */
  async destroy({ accounts, auth, identities, request, t }: HttpContext): Promise<unknown> {
    const user = request.user()!;
    const id = asAuthenticatable(user).authId();
    const isRemoved = await accounts.removeMethod(user, async () => void (await identities.deleteAll(id)));
    if (!isRemoved) throw new ValidationError({ identity: [t.message("exampleSite.last")] });
    const message = t("exampleSite.disconnected");
    return auth.answer({ status: "disconnected", message }, () => auth.redirectToRoute("account.example-site"));
  }
}
