import { Api } from "../../api/index.ts";
import { LoginGuard } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { ConfigurationError } from "../../support/index.ts";

/** The token endpoint for codes in mails. */
export class LoginLinkTokenController {
  /** The driver whose tokens it issues. */
  static readonly driver: string = "jwt";

  /** POST /api/login-mail, with `email`: the same for every address. */
  async request(context: HttpContext): Promise<object> {
    const { loginLinks, request, response } = context;
    const text = await loginLinks.requestLogin(request.bodyInput("email"), {}, this.#guardOf(context));
    response.status(202);
    return { data: { request: text } };
  }

  /** POST /api/login-mail/token, with `request` and `mailed_code`: a token, as `POST /api/auth` responds with. */
  async issue(context: HttpContext): Promise<unknown> {
    const { driver } = this.constructor as typeof LoginLinkTokenController;
    // Never the session's request, even if there is one.
    const request = context.request.bodyInput("request") ?? "";
    return Api.respond(context, await context.loginLinks.logIn({ request }, this.#guardOf(context)), { driver });
  }

  #guardOf({ auth }: HttpContext): LoginGuard {
    const { driver } = this.constructor as typeof LoginLinkTokenController;
    const guard: unknown = auth.guard(driver as "jwt");
    if (guard instanceof LoginGuard) return guard;
    const problem = `"${driver}" is not a driver that issues tokens.`;
    throw new ConfigurationError("LoginLinks.tokens", problem, 'Name an entry of DRIVERS: { driver: "jwt" }.');
  }
}
