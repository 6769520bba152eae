import { Api } from "../../api/index.ts";
import { LoginGuard } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { ConfigurationError } from "../../support/index.ts";

/** The token endpoint for passkeys. */
export class PasskeyTokenController {
  /** The driver whose tokens it issues. */
  static readonly driver: string = "jwt";

  /** POST /api/passkey/options */
  async options({ passkeys }: HttpContext): Promise<object> {
    const { options } = await passkeys.loginOptions();
    return { data: options };
  }

  /** POST /api/passkey: a token, as `POST /api/auth` responds with. */
  async issue(context: HttpContext): Promise<unknown> {
    const { driver } = this.constructor as typeof PasskeyTokenController;
    const guard: unknown = context.auth.guard(driver as "jwt");
    if (!(guard instanceof LoginGuard)) {
      const problem = `"${driver}" is not a driver that issues tokens.`;
      throw new ConfigurationError("Passkeys.tokens", problem, 'Name an entry of DRIVERS: { driver: "jwt" }.');
    }
    return Api.respond(context, await context.passkeys.logIn({}, guard), { driver });
  }
}
