"""The tools that set, list, change and delete reminders, and set time zones."""

from tools.reminder.reminder import delete_reminder, list_reminders, reminder_tools

__all__ = ["delete_reminder", "list_reminders", "reminder_tools"]
