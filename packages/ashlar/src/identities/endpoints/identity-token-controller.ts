import { Api } from "../../api/index.ts";
import { LoginGuard } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { ConfigurationError } from "../../support/index.ts";

/** The token endpoint for accounts at other sites. */
export class IdentityTokenController {
  /** The driver whose tokens it issues. */
  static readonly driver: string = "jwt";

  /** POST /api/identities/@provider */
  async begin({ identities, request }: HttpContext): Promise<object> {
    return { data: await identities.beginForApp(request.param("provider")) };
  }

  /** POST /api/identities/@provider/token: a token, as `POST /api/auth` responds with. */
  async issue(context: HttpContext): Promise<unknown> {
    const { driver } = this.constructor as typeof IdentityTokenController;
    const guard: unknown = context.auth.guard(driver as "jwt");
    if (!(guard instanceof LoginGuard)) {
      const problem = `"${driver}" is not a driver that issues tokens.`;
      throw new ConfigurationError("Identities.tokens", problem, 'Name an entry of DRIVERS: { driver: "jwt" }.');
    }
    const login = await context.identities.logInForApp(context.request.param("provider"), guard);
    return Api.respond(context, login, { driver });
  }
}
