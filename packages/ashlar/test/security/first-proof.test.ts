import { expect, onTestFinished, test } from "vitest";
import { authenticatorCode, captureMail, linksIn } from "../../src/testing/index.ts";
import type { TwoFactorService } from "../../src/two-factor/two-factor.ts";
import { ashlar } from "../support/command-line.ts";
import { addPasskey, PasskeyDevice, proveBy } from "../support/passkey-device.ts";
import { EMAIL, PasskeyShop } from "../support/passkey-shop.ts";
import { onEachDatabase } from "../support/services.ts";

const OF_OWNER = "a password of the owner";
const REMOVED = "Earlier ways to log in were removed from your account";

await onEachDatabase("a link that sets the password of an account", (engine) => {
  /** An account whose address may be a stranger's: its password, passkey and authenticator app are set up. */
  async function prepared(isVerified: boolean) {
    const shop = await PasskeyShop.install({ engine }, async (root) => {
      expect((await ashlar(root, "auth", "--two-factor")).code).toBe(0);
    });
    onTestFinished(() => shop.end());
    const ada = await shop.addAda();
    if (isVerified) await ada.markEmailAsVerified();
    const client = await shop.loggedIn();
    const device = new PasskeyDevice({ counts: 0 });
    (await addPasskey(client, device)).assertStatus(201);
    const { recoveryCodes, totp }: TwoFactorService = shop.application.container.make("twoFactor");
    const user = await shop.User.findOrFail(ada.id);
    const secret = "A".repeat(32);
    expect(await totp.add(user, secret, authenticatorCode(secret))).toBe("added");
    await recoveryCodes.renew(user);
    const mails = await captureMail(shop.application);
    const owner = shop.visitor();
    await owner.submit(await owner.get("/change_password"), '[action="/change_password"]', { email: EMAIL });
    await shop.application.background.settled();
    const link = new URL(linksIn(await mails.assertSent(({ to }) => to === EMAIL))[0]!);
    await mails.clear();
    const fields = { password: OF_OWNER, password_confirmation: OF_OWNER };
    const page = await owner.get(link.pathname + link.search);
    (await owner.submit(page, '[action="/password_reset"]', fields)).assertRedirect("/login");
    return { shop, owner, device, mails };
  }

  test("S146 removes what was set up before its address was proved for the first time, and tells the owner", async () => {
    const { shop, owner, device, mails } = await prepared(false);
    expect(await shop.rows("authenticators")).toEqual([]);
    (await proveBy(shop.visitor(), device)).assertStatus(422);
    // Without the stranger's second factor.
    const login = { email: EMAIL, password: OF_OWNER };
    (await owner.submit(await owner.get("/login"), '[action="/login"]', login)).assertRedirect("/home");
    expect((await mails.all()).map(({ subject }) => subject)).toContain(REMOVED);
  });

  test("S144 keeps the second factors of an account whose address was proved before", async () => {
    const { shop, device, mails } = await prepared(true);
    expect((await shop.rows("authenticators")).map(({ kind }) => kind)).toContain("totp");
    (await proveBy(shop.visitor(), device)).assertStatus(200);
    expect((await mails.all()).map(({ subject }) => subject)).not.toContain(REMOVED);
  });
});
