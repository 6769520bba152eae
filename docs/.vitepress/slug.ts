/**
 * The anchor of a heading, as repositories make it: "The client's address" is `the-clients-address`. The same anchors lead
 * to it on the site, in the repository and in the package.
 */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}
