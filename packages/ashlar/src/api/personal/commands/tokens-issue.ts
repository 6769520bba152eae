import type { CommandContext } from "../../../boot/index.ts";
import { AshlarError, ValidationError } from "../../../support/index.ts";
import type { CreatedPersonalToken, PersonalTokenRequest, PersonalTokenService } from "../personal-token-service.ts";
import { readArguments, serviceOf, userOf } from "./token-arguments.ts";

/** `tokens:issue`: creates a personal token, and prints it on a line of its own: lines of the log can be around it. */
export async function run(context: CommandContext): Promise<void> {
  const { values, positionals } = readArguments(context, ["user", "name", "abilities", "days"]);
  if (positionals.length > 0) throw new AshlarError("E_COMMAND", `"${positionals[0]}" is not an option.`);
  const { name = "", abilities, days } = values;
  const service = await serviceOf(context, values.driver);
  const user = await userOf(service, values.user);
  const created = await issue(service, user, {
    name,
    abilities: abilities === undefined ? null : abilities.split(",").filter((ability) => ability !== ""),
    days: days === undefined ? null : /^\d{1,6}$/.test(days) ? Number(days) : Number.NaN,
  });
  context.print(created.token);
}

async function issue(
  service: PersonalTokenService,
  user: Parameters<PersonalTokenService["issue"]>[0],
  request: PersonalTokenRequest,
): Promise<CreatedPersonalToken> {
  try {
    return (await service.issue(user, request))!;
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const problems = Object.entries(error.errors).flatMap(([field, all]) => {
      return all.map(({ message }) => (field === "" ? message : `--${field}: ${message}`));
    });
    throw new AshlarError("E_COMMAND", problems.join("\n"), { cause: error });
  }
}
