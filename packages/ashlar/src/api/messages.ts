import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** Messages about the inputs of the token endpoints. */
export const API_MESSAGES = {
  "api.input.required": "The {name} is required.",
  "api.input.text": "The {name} must be text.",
  "api.input.name": "The name must be text of 1 to 100 characters.",
  "api.input.abilities": "These are not abilities that you can give.",
  "api.otherDriver": "The token is one of the driver {driver}. Revoke it at the logout route of that driver.",
  "api.foreignDriver": "The token is one of the driver {driver}. It can't be revoked here, only by its issuer.",
  "api.input.unknownAbility": "You can't give the ability {ability}. Those that you can give: {known}.",
  "api.personal.days": "Choose a whole number of days from 1 to 3650.",
  "api.personal.daysUpTo": "Choose a whole number of days from 1 to {maximum}.",
  "api.personal.noAbilities": "Choose at least one ability.",
  "api.personal.tooMany": {
    one: "You can have {count} active token. Revoke it to create another one.",
    other: "You can have {count} active tokens. Revoke one that you don't need.",
  },
  "api.personal.byToken": "Personal tokens can't be managed with a token. Log in with your password.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof API_MESSAGES> {}
}

export const message: MessageMaker<typeof API_MESSAGES> = messagesOf(API_MESSAGES);
