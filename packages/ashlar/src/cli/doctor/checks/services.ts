import { MissingTableError } from "../../../database/index.ts";
import { limited, reasonOf } from "../../limited.ts";
import { missingTableFinding } from "../database.ts";
import { type Check, error, type Finding } from "../finding.ts";
import type { Subject } from "../subject.ts";

/** How long a server may take to respond, in seconds. */
const SECONDS = 8;

/** The sender of mails: reported even before production's boot would notice. */
export const MAIL_SETTINGS: Check = {
  name: "Mail",
  needsBoot: false,
  run(subject: Subject): Finding[] {
    if (!subject.isProduction || !subject.sections.has("mail")) return [];
    const {
      from,
      smtp,
      transport = "smtp",
    } = subject.settings("mail", "MAIL") as {
      readonly from?: { readonly address?: unknown };
      readonly smtp?: { readonly host?: unknown };
      readonly transport?: unknown;
    };
    const missing = [
      ...(from?.address ? [] : [["MAIL_FROM", "MAIL_FROM=no-reply@shop.example"] as const]),
      ...(transport !== "smtp" || smtp?.host ? [] : [["SMTP_HOST", "SMTP_HOST=smtp.shop.example"] as const]),
    ];
    return missing.map(([name, line]) => {
      const problem = `${name} is not set, and production needs it to send mails.`;
      return error("mail.sender", { file: ".env", problem, lines: [line], note: "Write your own." });
    });
  },
};

/** The mail server and the store of sessions. */
export const SERVICES: Check = {
  name: "Mail and sessions",
  needsBoot: true,
  seconds: 2 * SECONDS + 2,
  async run(subject: Subject): Promise<Finding[]> {
    return [...(await mailFindings(subject)), ...(await sessionFindings(subject))];
  },
};

async function mailFindings({ boot }: Subject): Promise<Finding[]> {
  const { container } = boot.application!;
  if (!container.has("mail")) return [];
  try {
    await limited(SECONDS, "The mail server", () => container.make("mail").check());
    return [];
  } catch (thrown) {
    const problem = `Mails can't be delivered: ${mailReasonOf(thrown)}`;
    const note =
      "Correct SMTP_HOST, SMTP_PORT, SMTP_USER and SMTP_PASSWORD, which config/mail.ts reads, or start the server.";
    return [error("mail.server", { file: "config/mail.ts", problem, note })];
  }
}

/** The reason without the server's words, which may repeat the login with its password. */
function mailReasonOf(thrown: unknown): string {
  const { response } = Object(thrown) as { readonly response?: unknown };
  if (!(thrown instanceof Error) || typeof response !== "string" || response === "") return reasonOf(thrown);
  const code = /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?/.exec(response)?.[0] ?? "a reply without a code";
  return reasonOf(new Error(thrown.message.replaceAll(response, () => code)));
}

async function sessionFindings({ boot }: Subject): Promise<Finding[]> {
  const { container } = boot.application!;
  if (!container.has("session")) return [];
  try {
    await limited(SECONDS, "The session store", () => container.make("session").keeper.check?.());
    return [];
  } catch (thrown) {
    if (thrown instanceof MissingTableError)
      return [missingTableFinding("sessions.store", thrown, "config/session.ts")];
    const problem = `The store of the sessions can't be reached: ${reasonOf(thrown)}`;
    const note = "Start its server, or correct its address in config/session.ts.";
    return [error("sessions.store", { file: "config/session.ts", problem, note })];
  }
}
