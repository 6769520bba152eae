import type { Authenticatable, FeatureProof } from "ashlar/auth";
import type { Totp } from "./totp.ts";

/** A code of an authenticator app: a further step of logins, for users who have turned it on. */
export function totpProof(totp: () => Totp): FeatureProof<Authenticatable> {
  return {
    amr: ["otp"],
    has: (user) => totp().isOn(user),
    step: {
      page: "totp",
      flows: () => [{ id: "totp", field: "totp_code" }],
      async check({ amr, context, purpose, prove, user }) {
        // A passkey with a fingerprint, or another factor before this one.
        if (amr.includes("mfa")) return "passed";
        // The token was issued after a code.
        if (purpose === "renewal") return "passed";
        const code = context.request.bodyInput("totp_code");
        if (typeof code !== "string" || code === "") return { pending: context.t.message("totp.missing") };
        return (await prove(() => totp().accept(user, code))) ? "passed" : { pending: context.t.message("totp.wrong") };
      },
    },
    data: {
      export: (subject) => totp().export(subject, ["created_at"]),
      erase: (subject) => totp().erase(subject),
    },
  };
}
