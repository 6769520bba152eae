import { inspect } from "node:util";
import { expect, test } from "vitest";
import { ADA, PASSWORD, testWeb } from "../../../test/support/web-application.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";

const PARTS: Readonly<Record<string, (context: HttpContext) => object>> = {
  "context.auth": ({ auth }) => auth,
  "a guard": ({ auth }) => auth.guardNamed("web"),
  "context.accounts": ({ accounts }) => accounts,
  "context.response": ({ response }) => response,
  "context.session": ({ session }) => session,
};

test.each(Object.entries(PARTS))(
  "S15 %s in a log shows nothing that the request proves its user with",
  async (_, part) => {
    const shown: string[] = [];
    const show = (context: HttpContext) => {
      const printed = part(context);
      shown.push(inspect(printed), inspect(printed, { depth: 9 }));
      return "shown";
    };
    const web = await testWeb({ routes: [Route.get("/shown", show)] });
    const browser = web.browser({ userAgent: "Mozilla/5.0" });
    await browser.post("/login", { email: ADA.email, password: PASSWORD });
    await browser.get("/shown");
    const token = browser.cookies.get("token")!;
    expect(token).toHaveLength(43);
    expect(shown).toHaveLength(2);
    expect(shown.filter((text) => text.includes(token) || text.includes("$argon2"))).toEqual([]);
  },
);
