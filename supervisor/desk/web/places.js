// Where something is wrong: file, line and column, the file as seen from the workspace.

let workspace = "";

export function setWorkspace(folder) {
  workspace = folder ? `${folder.replace(/\/+$/, "")}/` : "";
}

// A text without the workspace's own path in front of its files.
export const shortened = (text) => (workspace ? text.replaceAll(workspace, "") : text);

// "agents/devops/config.yaml:3:1", as much of it as is known.
export function placeOf({ file, line, col }) {
  const parts = [shortened(file ?? ""), line || "", line && col ? col : ""];
  return parts.filter((part) => part !== "").join(":");
}
