import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { checkTypes, execute, generatedApplication } from "../support/generated-application.ts";

describe("auth --two-factor", () => {
  test.each([{ pages: true }, { pages: false, json: true }])(
    "adds it to an application with accounts, once: %j",
    async ({ pages, json = false }) => {
      const root = await generatedApplication({ pages, ...(json ? { json } : {}) } as object);
      const read = (file: string) => readFile(join(root, file), "utf8");
      const { output: wouldChange } = await ashlar(root, "auth", "--two-factor", "--dry-run");
      expect(wouldChange).toContain("TwoFactorProvider");
      expect(await read("config/providers.ts")).not.toContain("TwoFactorProvider");
      const { code, output, errors } = await ashlar(root, "auth", "--two-factor");
      expect([code, errors]).toEqual([0, ""]);
      const lines = output.split("\n").map((line) => line.replace(/\d{4}(_\d\d){2}_\d{6}_/, ""));
      expect(lines.filter((line) => /^(?:Created|Changed) /.test(line))).toEqual([
        "Created config/two-factor.ts",
        "Created app/controllers/auth/two-factor-login-controller.ts",
        "Created app/controllers/auth/two-factor-account-controller.ts",
        ...(pages
          ? [
              "Created views/auth/two_factor.edge",
              "Created views/auth/two_factor_app.edge",
              "Created views/auth/recovery_codes.edge",
              "Created views/auth/account_two_factor.edge",
              "Created app/mailables/two-factor-changed-mail.ts",
              "Created views/mails/two_factor_changed.html.edge",
              "Created views/mails/two_factor_changed.text.edge",
              "Created tests/two-factor.test.ts",
            ]
          : []),
        "Created database/migrations/create_authenticators.ts",
        "Changed config/providers.ts",
        "Changed app/kernel.ts",
        "Changed routes/web.ts",
        ...(pages ? ["Changed config/auth.ts"] : []),
      ]);
      expect(await read("app/kernel.ts")).toContain('"two-factor": [TwoFactorMiddleware],');
      expect(await read("app/kernel.ts")).toContain(
        "web: [SecurityHeadersMiddleware, SessionMiddleware, LoadUserMiddleware, VerifyCsrfToken, TwoFactorSetupMiddleware],",
      );
      const again = await ashlar(root, "auth", "--two-factor");
      expect(again.output).not.toMatch(/^(?:Created|Changed) /m);
      await checkTypes(root);
      const { code: tests, output: report } = await execute(root, process.execPath, [
        "--test",
        ...(pages ? ["tests/two-factor.test.ts"] : []),
      ]);
      expect([tests, tests === 0 ? "" : report]).toEqual([0, ""]);
      expect((await ashlar(root, "doctor")).output).not.toContain("factors.");
    },
  );
});
