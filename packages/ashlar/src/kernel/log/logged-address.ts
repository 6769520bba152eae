import { truncatedAddress } from "../../http/index.ts";

/** How much of a client's address is logged: all of it, its network, or nothing. */
export const ADDRESS_DETAILS = ["full", "truncated", "none"] as const;

/** See {@link ADDRESS_DETAILS}. */
export type AddressDetail = (typeof ADDRESS_DETAILS)[number];

/** Returns what is logged of a client's address; `null` if that is nothing, or if the address is not known. */
export function loggedAddress(address: string | null, detail: AddressDetail): string | null {
  if (address === null || detail === "none") return null;
  return detail === "full" ? address : truncatedAddress(address);
}
