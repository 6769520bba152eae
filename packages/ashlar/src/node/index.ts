export {
  isNodeResponse,
  type NodeParts,
  nodeParts,
  type PreparedResponse,
  parsedUrl,
  preparedByNode,
  takenBytes,
} from "./private-members.ts";
