import { expect, test } from "vitest";
import { FullUser, testAccounts } from "../../../test/support/account-application.ts";
import { ADA, PASSWORD } from "../../../test/support/api-application.ts";
import type { LoginStep } from "../../auth/index.ts";
import { declareFeature, type Feature, Provider } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { generateSecret } from "../../security/index.ts";
import { ApiProvider } from "../api-provider.ts";
import { RefreshTokens } from "../stores/refresh-tokens.ts";
import { Api } from "./api.ts";

const SECRET = generateSecret();
class BadgeProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "badge",
    proofs: { badge: () => ({ amr: ["sc"], startsLogins: true, has: () => true }) },
  });
}
const code: LoginStep = { name: "code", amr: ["otp"], check: () => "pending" };
test("S206 Api.respond gives no token for a login that another guard admitted with fewer steps", async () => {
  const User = class User extends FullUser {};
  const accounts = await testAccounts({
    User,
    providers: [ApiProvider, BadgeProvider],
    config: { api: { DRIVERS: { jwt: { secret: SECRET, model: User } } } },
    guards: { default: "web", jwt: { driver: "jwt", steps: [code] } },
    routes: [
      ...Api.routes(),
      Route.post("/badge", async (context: HttpContext) => {
        const guard = context.auth.guard("web");
        return Api.respond(context, await guard.enter((await User.find(ADA.id)) as never, { by: "badge" }));
      }).respondsWithJson(),
    ],
  });
  const direct = await accounts
    .visitor()
    .post("/api/auth", { username: ADA.email, password: PASSWORD }, { accept: "application/json" });
  expect(direct.status).toBe(401);
  const { status, body } = await accounts.visitor().post("/badge", {}, { accept: "application/json" });
  expect([status, body]).toMatchObject([500, { code: "E_UNSUPPORTED_GUARD_OPERATION" }]);
});
test("the old form of a refresh token is read as saying nothing, and a changed one is refused", () => {
  const tokens = new RefreshTokens("jwt", null, [SECRET]);
  const old = tokens.first({ userId: "1", family: "f" });
  expect(tokens.read(old)).toEqual({ userId: "1", family: "f", authentication: null });
  const [body, mac] = old.split(".");
  const forged = JSON.parse(Buffer.from(body!, "base64url").toString());
  forged.push({ auth_time: 1, amr: ["mfa"] });
  expect(tokens.read(`${Buffer.from(JSON.stringify(forged)).toString("base64url")}.${mac}`)).toMatchObject({
    failure: "signature",
  });
});
