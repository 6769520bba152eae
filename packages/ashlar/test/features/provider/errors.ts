import type { StatusesOf } from "ashlar";

export const EXAMPLE_SITE_ERRORS = {
  E_EXAMPLE_SITE: [403, "Example Site did not confirm who you are."],
} as const;

declare module "ashlar" {
  interface ErrorCodes extends StatusesOf<typeof EXAMPLE_SITE_ERRORS> {}
}
